import Fail.fail
import sbt._
import sbt.Keys._
import sbt.complete.DefaultParsers.spaceDelimited

/** Runs Spark's own suites, out of Spark's tests jar, with Tidemark switched on.
  *
  * Those suites describe stock Spark's behavior better than anything else, so they must also pass with Tidemark on. The
  * few tests that assert what Tidemark changes on purpose are named in `differences.txt`.
  */
object SparkSuites {

  /** The suites of `make test` and `make test-more-scala`, with the number of tests that each runs: a suite that loses
    * some would pass all the same.
    */
  val core: Map[String, Int] = Map(
    "EventTimeWatermarkSuite" -> 35,
    "MultiStatefulOperatorsSuite" -> 13,
    "EventTimeWatermarkWithWatermarkDefInSelectSuite" -> 5,
    "StreamingDeduplicationSuite" -> 28,
    "StreamingDeduplicationWithinWatermarkSuite" -> 8)

  /** All suites of whatever has to do with watermarks or state; those of joins come with each format of their state. */
  private val all = core.keys.toSeq ++ Seq(
    "WatermarkTrackerSuite",
    "StreamSuite",
    "StreamingQuerySuite",
    "MicroBatchExecutionSuite",
    "TriggerAvailableNowSuite",
    "StreamingSelfUnionSuite",
    "StreamingStateStoreFormatCompatibilitySuite",
    "StreamingAggregationSuite",
    "RocksDBStateStoreStreamingAggregationSuite",
    "StreamingSessionWindowSuite",
    "FlatMapGroupsWithStateSuite",
    "FlatMapGroupsWithStateWithInitialStateSuite",
    "RocksDBStateStoreFlatMapGroupsWithStateSuite",
    "RocksDBStateStoreStreamingDeduplicationSuite",
    "TransformWithStateChainingSuite",
    "TransformWithStateChainingSuiteWithRowChecksum",
    "TransformWithStateInitialStateSuite",
    "TransformWithStateInitialStateSuiteCheckpointV2",
    "TransformWithStateInitialStateSuiteWithRowChecksum",
    "TransformWithStateValidationSuite",
    "TransformWithStateAvroSuite",
    "TransformWithStateUnsafeRowSuite",
    "TransformWithStateClusterSuite",
    "TransformWithListStateSuite",
    "TransformWithListStateSuiteWithRowChecksum",
    "TransformWithMapStateSuite",
    "TransformWithMapStateSuiteWithRowChecksum",
    "TransformWithListStateTTLSuite",
    "TransformWithMapStateTTLSuite",
    "TransformWithValueStateTTLSuite",
    "StreamRealTimeModeSuite",
    "ContinuousSuite") ++
    (for {
      join <- Seq("Inner", "Outer", "FullOuter", "LeftSemi")
      format <- Seq("WithoutVCF", "WithVCF", "V4")
    } yield s"Streaming${join}Join${format}Suite")

  private val extension = "-Dspark.sql.extensions=io.tidemark.TidemarkExtension"

  val sparkSuites =
    inputKey[Unit]("Spark's own suites with Tidemark on. Arguments: names of suites; none means the core of them.")
  val sparkSuitesStock =
    inputKey[Unit]("The same suites on stock Spark, to tell a flaw of ours from one of the machine.")
  val sparkSuitesBoth =
    inputKey[Unit]("Suites on stock Spark and with Tidemark on, both results of each. Without names: all of them.")

  val settings: Seq[Setting[_]] = Seq(
    sparkSuites := {
      val chosen = some(spaceDelimited("<suite>").parsed, core.keys.toSeq)
      val outcomes = runner.value.run(chosen, stock = false)
      val problems = Differences.judge(chosen, core, outcomes, listed.value)
      end(problems)
      streams.value.log.info(
        s"Of Spark's own tests ${outcomes.count(_.passed)} passed, ${outcomes.count(_.failed)} differ as listed.")
    },
    sparkSuitesStock := {
      val outcomes = runner.value.run(some(spaceDelimited("<suite>").parsed, core.keys.toSeq), stock = true)
      end(outcomes.filter(_.failed).map(o => s"${o.suite}: failed: ${o.test}"))
    },
    sparkSuitesBoth := {
      val log = streams.value.log
      val differences = listed.value
      val runner = this.runner.value
      // One after the other, so that a suite which ends its JVM ends no other.
      val problems = some(spaceDelimited("<suite>").parsed, all).flatMap { suite =>
        val (stock, ours) = (runner.run(Seq(suite), stock = true), runner.run(Seq(suite), stock = false))
        log.info(f"$suite%-55s stock ${counted(stock)}%-28s Tidemark ${counted(ours)}")
        // A test that fails on stock Spark, in the same setting, says nothing of us.
        val failedOnStock = stock.filter(_.failed).map(_.test).toSet
        Differences.judge(
          Seq(suite),
          Map(suite -> stock.count(_.passed)),
          ours.filterNot(o => failedOnStock(o.test)),
          differences)
      }
      end(problems)
    })

  private def some(named: Seq[String], otherwise: Seq[String]): Seq[String] = if (named.isEmpty) otherwise else named

  private def counted(outcomes: Seq[Outcome]): String =
    s"${outcomes.count(_.passed)} passed, ${outcomes.count(_.failed)} failed"

  private def end(problems: Seq[String]): Unit =
    if (problems.nonEmpty) fail(problems.mkString("Spark's own suites did not go as they should:\n  ", "\n  ", ""))

  def listed: Def.Initialize[Task[Seq[Difference]]] =
    Def.task(Differences.read((ThisBuild / baseDirectory).value / "jvm/src/test/spark-suites/differences.txt"))

  private def runner = Def.task {
    val dependencies = (Test / dependencyClasspath).value.files
    new Runner(
      (ThisBuild / baseDirectory).value,
      target.value,
      unpackedTests.value,
      (Compile / products).value ++ dependencies,
      streams.value.log)
  }

  private final class Runner(root: File, target: File, tests: File, classPath: Seq[File], log: Logger) {

    /** Runs suites in a JVM of their own. */
    def run(suites: Seq[String], stock: Boolean): Seq[Outcome] = {
      val classes = suites.map(suite => suite -> className(suite, tests))
      val reports = target / (if (stock) "spark-suites-stock" else "spark-suites")
      IO.delete(reports)
      IO.createDirectory(reports)
      val output = reports / "output.txt"
      val jvm = SparkTests.javaOptionsOf(root, target) ++ (if (stock) Nil else Seq(extension))
      val runner = Seq("org.scalatest.tools.Runner", "-R", s"$tests", "-oDW", "-fW", s"$output", "-u", s"$reports")
      val options = ForkOptions()
        .withOutputStrategy(OutputStrategy.LoggedOutput(log))
        .withWorkingDirectory(ForkedTests.workFolder(target))
      // The exit code says only that something failed. The reports say what, but not whether a suite was cut short.
      val _ = Fork.java(
        options,
        jvm ++ Seq("-cp", (tests +: classPath).mkString(java.io.File.pathSeparator)) ++ runner ++
          classes.flatMap { case (_, name) => Seq("-s", name) })

      val whole = s"Suites: completed ${suites.size}, aborted 0"
      if (!output.exists || !IO.readLines(output).contains(whole)) fail(s"$output does not say: $whole")
      classes.flatMap { case (suite, name) => SuiteReport.read(reports / s"TEST-$name.xml", suite) }
    }
  }

  /** Spark moves its suites between packages from version to version. */
  def className(suite: String, tests: File): String = (tests ** s"$suite.class").get() match {
    case Seq(file) => IO.relativize(tests, file).get.stripSuffix(".class").replace('/', '.')
    case _ => fail(s"There is no suite named $suite in $tests.")
  }

  /** Spark's SQL tests jar as a folder, because some tests read their resources as files. */
  def unpackedTests: Def.Initialize[Task[File]] =
    Def.task(unpacked((Test / dependencyClasspath).value.files, target.value))

  private def unpacked(classPath: Seq[File], target: File): File = {
    val jar = classPath
      .find(file => file.getName.startsWith("spark-sql_") && file.getName.endsWith("-tests.jar"))
      .getOrElse(fail("The tests jar of spark-sql is not on the class path."))
    val folder = target / jar.getName.stripSuffix(".jar")
    val done = folder / ".unpacked"
    if (!done.exists) {
      IO.delete(folder)
      IO.unzip(jar, folder)
      IO.touch(done)
    }
    folder
  }
}
