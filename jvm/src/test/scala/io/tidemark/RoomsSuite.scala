package io.tidemark

import java.nio.file.{Files, Path, Paths}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.scalatest.funsuite.AnyFunSuite

/** The engine's packages are layers: a file imports from its own room and from those before it, and from no later one.
  *
  * `docs/inside.md` shows the rooms and says what each is for.
  */
class RoomsSuite extends AnyFunSuite {
  import RoomsSuite._

  private val files: Seq[File] = {
    val folder = root.resolve("jvm/src/main")
    val all = Using.resource(Files.walk(folder))(_.iterator.asScala.filter(_.toString.endsWith(".scala")).toVector)
    all.map(Files.readString).flatMap(read)
  }

  test("every room has files, and every file of the engine is in a room") {
    assert(files.map(_.room).toSet === rooms.toSet)
  }

  test("no file imports from a later room") {
    val upwards = for {
      file <- files
      room <- file.imports if rooms.indexOf(room) > rooms.indexOf(file.room)
    } yield s"${file.name} in ${file.room} imports from $room"
    assert(upwards.isEmpty)
  }

  test("no more than three files of a room know each other in a circle") {
    val circles = rooms.flatMap { room =>
      val inside = files.filter(_.room == room)
      val uses = inside.map { file =>
        file.name -> inside.filter(other => other != file && other.declares.exists(file.words)).map(_.name).toSet
      }.toMap
      inside.map(file => file.name -> circle(file.name, uses)).filter(_._2.size > 3)
    }
    assert(circles.isEmpty)
  }

  private def circle(file: String, uses: Map[String, Set[String]]): Set[String] =
    reached(file, uses).filter(reached(_, uses)(file))

  private def reached(file: String, uses: Map[String, Set[String]]): Set[String] = {
    @annotation.tailrec
    def further(found: Set[String]): Set[String] = {
      val more = found ++ found.flatMap(uses)
      if (more == found) found else further(more)
    }
    further(uses(file))
  }
}

object RoomsSuite {

  /** From the lowest to the highest. */
  val rooms: Seq[String] = Seq(
    "session",
    "columns",
    "functions",
    "optimizer",
    "exec.clocks",
    "exec",
    "planning",
    "log",
    "query",
    "report")

  private val engine = "org.apache.spark.sql.tidemark"

  private final case class File(
      name: String,
      room: String,
      imports: Set[String],
      declares: Set[String],
      words: Set[String])

  /** A source file of the engine; comments, and what a string says, do not count. */
  private def read(text: String): Option[File] = {
    val code = text.replaceAll("(?s)/\\*.*?\\*/|//[^\n]*|\"(?:[^\"\\\\\n]|\\\\.)*\"", "")
    val declared = raw"(?m)^(?:private(?:\[\w+\])? )?(?:final |sealed |abstract |case )*(?:class|object|trait) (\w+)".r
      .findAllMatchIn(code).map(_.group(1)).toSeq
    raw"(?m)^package $engine\.([a-z.]+)$$".r.findFirstMatchIn(code).map { found =>
      val imports = raw"import $engine\.([a-z.]+)\.[A-Z{_]".r.findAllMatchIn(code).map(_.group(1)).toSet
      val words = raw"(?<![\w.])[A-Z]\w*".r.findAllIn(code).toSet
      File(declared.headOption.getOrElse(""), found.group(1), imports, declared.toSet, words)
    }
  }

  private def root: Path = {
    val here = Paths.get("").toAbsolutePath
    val roots = sys.props.get("tidemark.root").map(Paths.get(_)) ++
      Iterator.iterate(here)(_.getParent).takeWhile(_ != null)
    roots.find(root => Files.isDirectory(root.resolve("jvm/src/main"))).getOrElse(sys.error(s"no sources above $here"))
  }
}
