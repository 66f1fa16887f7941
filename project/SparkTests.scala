import sbt._
import sbt.Keys._

/** Scala tests on a Spark from Maven Central: StreamTest and its kin come from Spark's own tests jars. */
object SparkTests {
  private val version = "4.2.0"

  /** Spark's modules whose tests jars the streaming suites are made of. */
  private val modules = Seq("spark-core", "spark-catalyst", "spark-sql", "spark-sql-api", "spark-common-utils")

  val settings: Seq[Setting[_]] = Seq(
    libraryDependencies ++= modules.map("org.apache.spark" %% _ % version % Test classifier "tests"),
    libraryDependencies ++= Seq(
      "org.scalatest" %% "scalatest" % "3.2.20" % Test,
      "org.scalatestplus" %% "scalacheck-1-18" % "3.2.19.0" % Test,
      // Spark's StreamingQuerySuite is made with it.
      "org.scalatestplus" %% "mockito-5-12" % "3.2.19.0" % Test),
    Test / fork := true,
    Test / testForkedParallel := false,
    Test / parallelExecution := false,
    Test / javaOptions ++= javaOptionsOf((ThisBuild / baseDirectory).value, target.value),
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

  /** What a JVM needs to run Spark's test code. */
  def javaOptionsOf(root: File, target: File): Seq[String] = Seq(
    "-Xmx3g",
    "-Xss4m",
    "-XX:+UseParallelGC",
    // Tests run most of their code a few times only: compiling it well costs more than that brings.
    "-XX:TieredStopAtLevel=1",
    "-Dspark.testing=1",
    "-Dspark.ui.enabled=false",
    "-Dspark.ui.showConsoleProgress=false",
    s"-Dspark.test.home=${target / "work"}",
    // The usual one starts a process for every file that it renames.
    "-Dspark.sql.streaming.checkpointFileManagerClass=" +
      "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager",
    s"-Djava.io.tmpdir=${temporary(target)}",
    s"-Dlog4j2.configurationFile=${root / "jvm/src/test/resources/log4j2-test.properties"}",
    s"-Dtidemark.test.log=${target / "tests.log"}",
    s"-Dtidemark.root=$root",
    "-Dio.netty.tryReflectionSetAccessible=true") ++ told ++ opens

  /** What is told to sbt is told to the tests: `-Dtidemark.golden=write` writes golden files anew, `-Dtidemark.fuzz.n=100`
    * draws more cases.
    */
  private def told: Seq[String] =
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

  /** As in Spark's JavaModuleOptions. */
  val opens: Seq[String] = Seq(
    "java.lang",
    "java.lang.invoke",
    "java.lang.reflect",
    "java.io",
    "java.net",
    "java.nio",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "jdk.internal.ref",
    "sun.nio.ch",
    "sun.nio.cs",
    "sun.security.action",
    "sun.util.calendar").map(name => s"--add-opens=java.base/$name=ALL-UNNAMED")
}
