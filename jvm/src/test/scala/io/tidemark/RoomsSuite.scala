package io.tidemark

import java.nio.file.{Files, Path, Paths}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.scalatest.funsuite.AnyFunSuite

/** The engine's packages are layers, and so are those of `core`: a file imports from its own room and from those before it,
  * and from no later one.
  *
  * `docs/inside.md` shows the rooms and says what each is for.
  */
class RoomsSuite extends AnyFunSuite {
  import RoomsSuite._

  private val sources: Seq[String] = {
    val folder = root.resolve("jvm/src/main")
    val all = Using.resource(Files.walk(folder))(_.iterator.asScala.filter(_.toString.endsWith(".scala")).toVector)
    all.map(Files.readString)
  }

  for (house <- Seq(engine, core)) {
    lazy val files = sources.flatMap(read(_, house))
    val of = if (house == core) " of core" else ""

    test(s"every room$of has files, and every file of ${house.name} is in a room") {
      assert(files.map(_.room).toSet === house.rooms.toSet)
    }

    test(s"no file$of imports from a later room") {
      val upwards = for {
        file <- files
        room <- file.imports if house.rooms.indexOf(room) > house.rooms.indexOf(file.room)
      } yield s"${file.name} in ${file.room} imports from $room"
      assert(upwards.isEmpty)
    }

    test(s"at most three files of a room$of depend on each other in a circle") {
      val circles = house.rooms.flatMap { room =>
        val inside = files.filter(_.room == room)
        val uses = inside.map { file =>
          file.name -> inside.filter(other => other != file && other.declares.exists(file.words)).map(_.name).toSet
        }.toMap
        inside.map(file => file.name -> circle(file.name, uses)).filter(_._2.size > 3)
      }
      assert(circles.isEmpty)
    }
  }

  test("the plan files and the splits files of core do not import each other") {
    val files = sources.flatMap(read(_, core))
    val (plan, splits) = (files.filter(_.room == "plan"), files.filter(_.room == "splits"))
    assert(plan.flatMap(_.imports).toSet.intersect(Set("bytes", "splits")).isEmpty)
    assert(!splits.flatMap(_.imports).contains("plan"))
  }

  test("the root package has two ends: the engine imports its lower files, and its upper files import the engine") {
    val files = sources.flatMap(readRoot)
    val (upper, lower) = files.partition(file => upperEnd.contains(file.name))
    assert(files.map(_.name).toSet === upperEnd ++ lowerEnd)
    val downward = for {
      file <- lower
      name <- file.imports ++ upper.flatMap(_.declares).filter(file.words)
    } yield s"${file.name} uses $name"
    assert(downward.isEmpty)

    val declared = files.map(file => file.declares -> lowerEnd(file.name))
    val imported = for {
      text <- sources if s"package ${engine.path}".r.findFirstIn(text).nonEmpty
      name <- importsOfRoot(text) if declared.exists { case (names, isLower) => names(name) && !isLower }
    } yield name
    assert(imported.isEmpty)
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

  /** Packages that are layers.
    * @param path the package above them, which may have files itself: its room is the empty name
    * @param rooms from the lowest to the highest
    */
  final case class House(name: String, path: String, rooms: Seq[String])

  val engine: House = House(
    "the engine",
    "org.apache.spark.sql.tidemark",
    Seq(
      "session",
      "columns",
      "functions",
      "optimizer",
      "exec.clocks",
      "exec.held",
      "exec.order",
      "exec",
      "exec.calls",
      "exec.eviction",
      "planning",
      "log",
      "noted",
      "stream",
      "sources",
      "batch",
      "marks",
      "check",
      "status",
      "query",
      "view",
      "report",
      "ui"))

  val core: House =
    House(
      "core",
      "io.tidemark.core",
      Seq("", "bytes", "calls", "held", "noted", "splits", "plan", "memory", "format", "why", "history"))

  /** What users of Spark name: these files call the engine. */
  private val upperEnd = Set("TidemarkExtension", "TidemarkExplain", "functions", "Explanation", "QueryReport")

  /** Errors, settings and options, which the engine's rooms import. */
  private val lowerEnd = Set(
    "WatermarkOptions",
    "TidemarkConf",
    "TidemarkError",
    "TidemarkException",
    "ErrorText",
    "AsyncErrors",
    "CheckpointErrors",
    "NotedTimeErrors",
    "OrderErrors")

  private final case class File(
      name: String,
      room: String,
      imports: Set[String],
      declares: Set[String],
      words: Set[String])

  /** A source file without comments, and without what its strings say. */
  private def code(text: String): String =
    text.replaceAll("(?s)/\\*.*?\\*/|//[^\n]*|\"(?:[^\"\\\\\n]|\\\\.)*\"", "")

  /** The top-level names of a file. */
  private def declares(code: String): Seq[String] =
    raw"(?m)^(?:private(?:\[\w+\])? )?(?:final |sealed |abstract |case )*(?:class|object|trait) (\w+)".r
      .findAllMatchIn(code).map(_.group(1)).toSeq

  private def words(code: String): Set[String] = raw"(?<![\w.])[A-Z]\w*".r.findAllIn(code).toSet

  /** A file of the root package, whose `imports` are those of the engine. */
  private def readRoot(text: String): Option[File] =
    raw"(?m)^package io\.tidemark$$".r.findFirstIn(code(text)).map { _ =>
      val declared = declares(code(text))
      val imports = raw"import ${engine.path}\.\S+".r.findAllIn(code(text)).toSet
      File(declared.headOption.getOrElse(""), "", imports, declared.toSet, words(code(text)))
    }

  private def importsOfRoot(text: String): Set[String] =
    raw"import io\.tidemark\.(\{[^}]*\}|\w+)".r.findAllMatchIn(code(text)).flatMap(_.group(1).split("[^\\w]+")).toSet

  /** A source file of a house. */
  private def read(text: String, house: House): Option[File] = {
    val code = RoomsSuite.code(text)
    val declared = declares(code)
    def room(after: String) = after.stripPrefix(".")
    raw"(?m)^package ${house.path}((?:\.[a-z.]+)?)$$".r.findFirstMatchIn(code).map { found =>
      val imports =
        raw"import ${house.path}((?:\.[a-z]+)*)\.[A-Z{_]".r.findAllMatchIn(code).map(at => room(at.group(1))).toSet
      File(declared.headOption.getOrElse(""), room(found.group(1)), imports, declared.toSet, words(code))
    }
  }

  private[tidemark] def root: Path = {
    val here = Paths.get("").toAbsolutePath
    val roots = sys.props.get("tidemark.root").map(Paths.get(_)) ++
      Iterator.iterate(here)(_.getParent).takeWhile(_ != null)
    roots.find(root => Files.isDirectory(root.resolve("jvm/src/main"))).getOrElse(sys.error(s"no sources above $here"))
  }
}
