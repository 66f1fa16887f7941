package io.tidemark

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{FileAlreadyExistsException, Files, Path, Paths}

import scala.jdk.CollectionConverters._

import org.scalatest.{Filter, Suite}
import org.scalatest.tools.Runner

/** One of the JVMs that run a tier of the tests side by side; `project/Lanes.scala` starts them.
  *
  * Each takes the next suite of the list that no other has taken, so that they end at about the same time, whatever a
  * suite costs. What became of a suite is a file named after it: its tests, those of them in this tier, milliseconds.
  */
object Lane {

  /** @param args the folder with the list, in which the results are put; the tier; the seconds that a test may take */
  def main(args: Array[String]): Unit = {
    val Array(name, tier, seconds) = args: @unchecked
    val folder = Paths.get(name)
    sys.props(HangingTests.Seconds) = seconds
    Files.readAllLines(folder.resolve("suites.txt")).asScala.iterator.filter(isFree(folder, _)).foreach { name =>
      // Spark's own suites know neither our tags nor the engine: a setting of the JVM brings that in.
      val isSparks = !name.startsWith("io.tidemark.") && !name.startsWith("org.apache.spark.sql.tidemark.")
      if (isSparks) sys.props(Extensions) = "io.tidemark.TidemarkExtension" else sys.props -= Extensions
      val start = System.nanoTime()
      val suite = Class.forName(name).getDeclaredConstructor().newInstance().asInstanceOf[Suite]
      val (wanted, choice) = if (isSparks) ofSparks(suite, tier) else ofOurs(suite, tier)
      // A failure is in the report.
      if (wanted > 0) {
        val reporters = Array("-oDW", "-C", classOf[HangingTests].getName, "-u", s"$folder")
        val _ = Runner.run(reporters ++ Array("-S", seed, "-s", name) ++ choice)
      }
      val millis = (System.nanoTime() - start) / 1000000
      Files.write(folder.resolve(s"$name.done"), s"${suite.testNames.size} $wanted $millis".getBytes(UTF_8))
    }
    // What a suite has left running must not keep the others waiting.
    sys.exit(0)
  }

  /** Of what the properties draw: the same in each run, but for `make fuzz`. */
  private val seed = sys.props.getOrElse("tidemark.seed", "1")

  private val Extensions = "spark.sql.extensions"

  /** Tests of Spark's own that are in the tier `more`; all others of their suite are in `test`. The first two wait a minute
    * for a refusal which does not come, because Tidemark runs these queries. The others are variations.
    */
  private val left: Map[String, Set[String]] = Map(
    "EventTimeWatermarkSuite" -> Set(
      "multiple event time columns in an input DataFrame for stateful operator is not allowed",
      "overriding watermark should not be allowed by default",
      "event time and watermark metrics with Trigger.Once (SPARK-24699)",
      "recovery from Spark ver 2.3.1 commit log without commit metadata (SPARK-24699)"))

  private def isFree(folder: Path, name: String): Boolean =
    try { Files.createFile(folder.resolve(s"$name.taken")); true }
    catch { case _: FileAlreadyExistsException => false }

  /** How many tests of a suite are in the tier, and the arguments by which ScalaTest takes them. */
  private def ofOurs(suite: Suite, tier: String): (Int, Seq[String]) = {
    val more = Set(More.name)
    if (tier == "more") (suite.expectedTestCount(Filter(Some(more), Set.empty)), Seq("-n", More.name))
    else (suite.expectedTestCount(Filter(None, more)), Seq("-l", More.name))
  }

  /** Spark's tests have no tags, so they are chosen by name. */
  private def ofSparks(suite: Suite, tier: String): (Int, Seq[String]) =
    left.get(suite.getClass.getSimpleName).fold((suite.testNames.size, Seq.empty[String])) { more =>
      val tests = if (tier == "more") more else suite.testNames -- more
      (tests.size, tests.toSeq.flatMap(Seq("-t", _)))
    }
}
