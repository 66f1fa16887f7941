import sbt._
import sbt.Keys._

/** Scala tests in a JVM of their own, with Spark or without. */
object ForkedTests {

  val settings: Seq[Setting[_]] = Seq(
    libraryDependencies ++= Seq(
      "org.scalatest" %% "scalatest" % "3.2.20" % Test,
      "org.scalatestplus" %% "scalacheck-1-18" % "3.2.19.0" % Test),
    Test / fork := true,
    Test / testForkedParallel := false,
    Test / parallelExecution := false,
    Test / forkOptions := (Test / forkOptions).value.withWorkingDirectory(workFolder(target.value)),
    // What a main prints is what `make` shows, without sbt's words before it.
    Test / outputStrategy := Some(StdoutOutput),
    Test / testOptions += Tests.Argument(TestFrameworks.ScalaTest, "-oDF", "-W", "120", "60"),
    // What properties draw is the same in each run, unless another seed is asked for.
    Test / testOptions +=
      Tests.Argument(TestFrameworks.ScalaTest, "-S", sys.props.getOrElse("tidemark.seed", "1")),
    Test / test := {
      val _ = (Test / test).value
      val results = (Test / executeTests).value.events.values
      val passed = results.map(_.passedCount).sum
      if (passed == 0) Fail.fail("No Scala test was run.")
      streams.value.log.info(s"$passed Scala tests in ${results.size} suites passed.")
    })

  /** Where a forked test stands: what Spark leaves in the working directory stays out of the source tree. */
  def workFolder(target: File): File = {
    val folder = target / "work"
    IO.createDirectory(folder)
    folder
  }

  /** What a JVM needs to run any test. */
  def javaOptionsOf(root: File, target: File): Seq[String] = Seq(
    "-Xss4m",
    "-XX:+UseParallelGC",
    s"-Djava.io.tmpdir=${temporary(target)}",
    s"-Dtidemark.root=$root") ++ passedOn

  /** System properties given to sbt are passed on to the tests: `-Dtidemark.golden=write` overwrites golden files,
    * `-Dtidemark.fuzz.n=100` draws more cases.
    */
  private def passedOn: Seq[String] =
    sys.props.collect { case (key, value) if key.startsWith("tidemark.") => s"-D$key=$value" }.toSeq

  /** Checkpoints go to memory where there is some: every batch of every test waits several times for the disk. */
  private def temporary(target: File): File = {
    val memory = file("/dev/shm")
    val folder =
      if (memory.canWrite && memory.getUsableSpace > 4000000000L) memory /
        s"tidemark-tests-${target.hashCode.toHexString}"
      else target / "tmp"
    IO.createDirectory(folder)
    folder
  }
}
