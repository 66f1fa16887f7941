import Fail.fail
import sbt._

/** The version is in one place, in the Python package: jar and wheel are always of one version. */
object Version {
  private val line = """__version__ = "([^"]+)"""".r

  def read(source: File): String =
    IO.readLines(source)
      .collectFirst { case line(version) => version }
      .getOrElse(fail(s"""$source has no line __version__ = "..."."""))
}
