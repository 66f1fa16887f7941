import Fail.fail
import sbt._

/** Copies the resolved jars of a configuration into a folder, after emptying it. */
object CopyJars {
  def apply(resolved: UpdateReport, from: Configuration, to: File): Unit = {
    val jars = resolved.select(configurationFilter(from.name), moduleFilter(), artifactFilter(extension = "jar"))
    if (jars.isEmpty) fail(s"No jar of ${from.name} was resolved.")
    IO.delete(to)
    val _ = IO.copy(jars.map(jar => jar -> to / jar.getName))
  }
}
