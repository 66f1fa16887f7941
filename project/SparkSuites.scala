import Fail.fail
import sbt._
import sbt.Keys._
import sbt.complete.DefaultParsers.spaceDelimited

/** Runs Spark's own suites, out of Spark's tests jar, with Tidemark switched on.
  *
  * What stock Spark promises is written down in those suites better than anywhere else; with the engine on they have to
  * go on saying the same. The few tests that assert what Tidemark changes on purpose are named in `differences.txt`.
  */
object SparkSuites {
  // With the number of tests that each runs: one that loses some would pass all the same.
  private val suites = Seq(
    "EventTimeWatermarkSuite" -> 35,
    "EventTimeWatermarkWithWatermarkDefInSelectSuite" -> 5,
    "MultiStatefulOperatorsSuite" -> 13,
    "StreamingDeduplicationSuite" -> 28,
    "StreamingDeduplicationWithinWatermarkSuite" -> 8)
  private val extension = "-Dspark.sql.extensions=io.tidemark.TidemarkExtension"

  val sparkSuites = inputKey[Unit]("Spark's own suites with Tidemark on. Arguments: names of suites; none means all.")
  val sparkSuitesStock =
    inputKey[Unit]("The same suites on stock Spark, to tell a flaw of ours from one of the machine.")

  val settings: Seq[Setting[_]] = Seq(
    sparkSuites := run(stock = false).evaluated,
    sparkSuitesStock := run(stock = true).evaluated)

  private def run(stock: Boolean) = Def.inputTask {
    val log = streams.value.log
    val chosen = spaceDelimited("<suite>").parsed match {
      case Seq() => suites.map(_._1)
      case some => some
    }
    val root = (ThisBuild / baseDirectory).value
    val differences =
      if (stock) Nil else Differences.read(root / "jvm/src/test/spark-suites/differences.txt")
    val tests = unpacked((Test / dependencyClasspath).value.files, target.value)
    val classes = chosen.map(suite => suite -> className(suite, tests))
    val reports = target.value / (if (stock) "spark-suites-stock" else "spark-suites")
    IO.delete(reports)
    IO.createDirectory(reports)
    val output = reports / "output.txt"

    val jvm = SparkTests.javaOptionsOf(root, target.value) ++ (if (stock) Nil else Seq(extension))
    val classPath = (tests +: (Compile / products).value) ++ (Test / dependencyClasspath).value.files
    val runner = Seq("org.scalatest.tools.Runner", "-R", s"$tests", "-oDW", "-fW", s"$output", "-u", s"$reports")
    val options = ForkOptions()
      .withOutputStrategy(OutputStrategy.LoggedOutput(log))
      .withWorkingDirectory(SparkTests.workFolder(target.value))
    // The exit code says only that something failed. The reports say what, but not whether a suite was cut short.
    val _ = Fork.java(
      options,
      jvm ++ Seq("-cp", classPath.mkString(java.io.File.pathSeparator)) ++ runner ++
        classes.flatMap { case (_, name) => Seq("-s", name) })

    val whole = s"Suites: completed ${chosen.size}, aborted 0"
    if (!output.exists || !IO.readLines(output).contains(whole)) fail(s"$output does not say: $whole")
    val outcomes = classes.flatMap { case (suite, name) => SuiteReport.read(reports / s"TEST-$name.xml", suite) }
    Differences.judge(chosen, suites.toMap, outcomes, differences) match {
      case Seq() =>
        log.info(
          s"Of Spark's own tests ${outcomes.count(_.passed)} passed, ${outcomes.count(_.failed)} differ as listed.")
      case wrong => fail(wrong.mkString("Spark's own suites did not go as they should:\n  ", "\n  ", ""))
    }
  }

  /** Spark moves its suites between packages from version to version. */
  private def className(suite: String, tests: File): String = (tests ** s"$suite.class").get() match {
    case Seq(file) => IO.relativize(tests, file).get.stripSuffix(".class").replace('/', '.')
    case _ => fail(s"There is no suite named $suite in $tests.")
  }

  /** Spark's SQL tests jar as a folder, because some tests read their resources as files. */
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
