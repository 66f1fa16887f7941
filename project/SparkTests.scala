import sbt._
import sbt.Keys._

/** Scala tests on a Spark from Maven Central: StreamTest and its kin come from Spark's own tests jars. */
object SparkTests {
  private val version = "4.2.0"

  /** Spark's modules whose tests jars the streaming suites are made of. */
  private val modules = Seq("spark-core", "spark-catalyst", "spark-sql", "spark-sql-api", "spark-common-utils")

  val settings: Seq[Setting[_]] = ForkedTests.settings ++ Seq(
    libraryDependencies ++= modules.map("org.apache.spark" %% _ % version % Test classifier "tests"),
    // Spark's StreamingQuerySuite is made with it.
    libraryDependencies += "org.scalatestplus" %% "mockito-5-12" % "3.2.19.0" % Test,
    Test / javaOptions ++= javaOptionsOf((ThisBuild / baseDirectory).value, target.value))

  /** What a JVM needs to run Spark's test code. */
  def javaOptionsOf(root: File, target: File): Seq[String] = ForkedTests.javaOptionsOf(root, target) ++ Seq(
    "-Xmx3g",
    // Tests run most of their code a few times only: compiling it well costs more than that brings.
    "-XX:TieredStopAtLevel=1",
    // Java then reserves 48 MB for compiled code. A few suites fill that, and code is thrown away and compiled again.
    "-XX:ReservedCodeCacheSize=256m",
    "-Dspark.testing=1",
    "-Dspark.ui.enabled=false",
    "-Dspark.ui.showConsoleProgress=false",
    // A suite that stops while Spark maintains its state would wait for five minutes.
    "-Dspark.sql.streaming.stateStore.maintenanceShutdownTimeout=5",
    s"-Dspark.test.home=${target / "work"}",
    // The usual one starts a process for every file that it renames.
    "-Dspark.sql.streaming.checkpointFileManagerClass=" +
      "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager",
    s"-Dlog4j2.configurationFile=${root / "jvm/src/test/resources/log4j2-test.properties"}",
    s"-Dtidemark.test.log=${target / "tests.log"}",
    "-Dio.netty.tryReflectionSetAccessible=true") ++ opens

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
