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

  /** @param args the folder with the list, in which the results are put; and the tier */
  def main(args: Array[String]): Unit = {
    val Array(name, tier) = args: @unchecked
    val folder = Paths.get(name)
    Files.readAllLines(folder.resolve("suites.txt")).asScala.iterator.filter(isFree(folder, _)).foreach { name =>
      // Spark's own suites know neither our tags nor the engine: a setting of the JVM brings that in.
      val isSparks = !name.startsWith("io.tidemark.") && !name.startsWith("org.apache.spark.sql.tidemark.")
      if (isSparks) sys.props(Extensions) = "io.tidemark.TidemarkExtension" else sys.props -= Extensions
      val start = System.nanoTime()
      val suite = Class.forName(name).getDeclaredConstructor().newInstance().asInstanceOf[Suite]
      val (wanted, arguments) = if (isSparks) ofSparks(suite, tier) else ofOurs(suite, tier)
      // A failure is in the report.
      if (wanted > 0) {
        val _ = Runner.run(Array("-oDW", "-W", "120", "60", "-S", seed, "-u", s"$folder", "-s", name) ++ arguments)
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

  private def isFree(folder: Path, name: String): Boolean =
    try { Files.createFile(folder.resolve(s"$name.taken")); true }
    catch { case _: FileAlreadyExistsException => false }

  /** How many tests of a suite are chosen, and the arguments by which ScalaTest takes them. */
  private def ofOurs(suite: Suite, tier: String): (Int, Seq[String]) = {
    val choice = Tiers.choice(tier)
    def tags(argument: String) = choice.collect { case (`argument`, tag) => tag.name }.toSet
    val filter = Filter(Some(tags("-n")).filter(_.nonEmpty), tags("-l"))
    (suite.expectedTestCount(filter), choice.flatMap { case (argument, tag) => Seq(argument, tag.name) })
  }

  /** Those of Spark's are chosen by name: a tier has all tests of a suite, or all but those that wait, or these alone. */
  private def ofSparks(suite: Suite, tier: String): (Int, Seq[String]) = {
    val waits = Tiers.waits.getOrElse(suite.getClass.getSimpleName, Set.empty)
    val tests = if (tier == "long") waits else suite.testNames -- waits
    (tests.size, if (waits.isEmpty) Nil else tests.toSeq.flatMap(Seq("-t", _)))
  }
}
