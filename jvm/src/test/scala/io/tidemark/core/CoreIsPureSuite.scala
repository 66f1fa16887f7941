package io.tidemark.core

import java.nio.file.{Files, Path, Paths}

import scala.jdk.CollectionConverters._
import scala.util.{Try, Using}

import org.scalatest.funsuite.AnyFunSuite

/** Where Spark may be named: an architecture that is only drawn does not last. */
class CoreIsPureSuite extends AnyFunSuite {
  import CoreIsPureSuite._

  private val engine = "org.apache.spark.sql.tidemark"

  /** The few places outside the engine that must name a class of Spark's, and which. */
  private val allowed = Map(
    "io/tidemark/TidemarkExtension.scala" -> Set("org.apache.spark.sql.SparkSessionExtensions"),
    // What users of data frames name themselves.
    "io/tidemark/functions.scala" -> Set(
      "org.apache.spark.sql",
      "org.apache.spark.sql.functions",
      "org.apache.spark.sql.streaming.StreamingQuery",
      "org.apache.spark.sql.types.DataType"),
    "io/tidemark/QueryReport.scala" -> Set("org.apache.spark.sql.SparkSession", "org.apache.spark.sql.functions"),
    "io/tidemark/Explanation.scala" -> Set("org.apache.spark.sql.DataFrame", "org.apache.spark.sql.functions"),
    "io/tidemark/WatermarkOptions.scala" -> Set("org.apache.spark.sql.Column"),
    // What Spark's explain asks for more, by the name of a class in a setting.
    "io/tidemark/TidemarkExplain.scala" -> Set(
      "org.apache.spark.sql.ExtendedExplainGenerator",
      "org.apache.spark.sql.execution.SparkPlan"),
    // Lengths of time are in Spark's own grammar.
    "io/tidemark/TidemarkConf.scala" -> Set("org.apache.spark.sql.catalyst.util.IntervalUtils"),
    // The package that users have to add, by its Maven coordinates.
    "io/tidemark/NotedTimeErrors.scala" -> Set("org.apache.spark"),
    "io/tidemark/TidemarkException.scala" -> Set("org.apache.spark.SparkThrowable"),
    // Names of Spark's that moved between its versions can be given again only where they were.
    "org/apache/spark/sql/Spark40Aliases.scala" -> Set("org.apache.spark.sql", "org.apache.spark.sql.execution"))

  private val main: Path = {
    val here = Paths.get("").toAbsolutePath
    val roots = sys.props.get("tidemark.root").map(Paths.get(_)) ++
      Iterator.iterate(here)(_.getParent).takeWhile(_ != null)
    roots.map(_.resolve("jvm/src/main")).find(Files.isDirectory(_)).getOrElse(fail(s"no jvm/src/main above $here"))
  }

  /** Every source file, by its path from the folder of its package's root, without comments. */
  private val sources: Seq[Source] = {
    val files = Using.resource(Files.walk(main))(_.iterator.asScala.filter(_.toString.endsWith(".scala")).toVector)
    files.map { file =>
      val path = main.relativize(file)
      Source(
        path.subpath(1, path.getNameCount).toString,
        Files.readString(file).replaceAll("(?s)/\\*.*?\\*/|//[^\n]*", ""))
    }
  }
  private def core = sources.filter(_.path.startsWith("io/tidemark/core/"))

  test("the source files of core and of the engine are found") {
    assert(core.size >= 10)
    assert(sources.exists(_.inPackage(engine)))
  }

  test("core names neither Spark nor Hadoop") {
    val named = core.filter(source => source.words("org\\.apache\\.").nonEmpty || source.code.contains("hadoop"))
    assert(named.map(_.path).isEmpty)
  }

  test("core imports nothing but Java, Scala and itself") {
    val imports =
      core.flatMap(source => "(?m)^\\s*import (.*)$".r.findAllMatchIn(source.code).map(source.path -> _.group(1)))
    // A name with a capital is one of core's own, as in `import PlanShape._`.
    val others = imports.filterNot { case (_, name) => name.matches("(java|scala|io\\.tidemark\\.core)\\..*|[A-Z].*") }
    assert(others.isEmpty)
  }

  test("core is compiled and tested without Spark on the class path") {
    val names = Seq("org.apache.spark.SparkContext", "org.apache.hadoop.fs.Path")
    assert(names.filter(name => Try(Class.forName(name)).isSuccess) === Nil)
  }

  test("core never reads the system clock") {
    val clocks = "currentTimeMillis|nanoTime|Instant\\.now|Clock\\.".r
    assert(core.filter(source => clocks.findFirstIn(source.code).nonEmpty).map(_.path).isEmpty)
  }

  test("Spark's internals are named in the engine's package and nowhere else") {
    val named = for {
      source <- sources if !source.inPackage(engine)
      word <- source.words("org\\.apache\\.spark") if !word.startsWith(engine)
      if !allowed.getOrElse(source.path, Set.empty).contains(word)
    } yield s"${source.path} names $word"
    assert(named.isEmpty)
  }

  test("files of the engine's package are in the engine's folder") {
    val folder = engine.replace('.', '/')
    assert(sources.filter(s => s.path.startsWith(folder) != s.inPackage(engine)).map(_.path).isEmpty)
  }
}

object CoreIsPureSuite {
  private final case class Source(path: String, code: String) {
    def inPackage(name: String): Boolean =
      code.linesIterator.exists(line => line == s"package $name" || line.startsWith(s"package $name."))
    def words(of: String): Set[String] = (of + raw"[\w.]*").r.findAllIn(code).map(_.stripSuffix(".")).toSet
  }
}
