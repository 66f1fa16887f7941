import Engine._

ThisBuild / organization := "io.tidemark"
ThisBuild / version := Version.read(file("python/tidemark/tidemark/_version.py"))
ThisBuild / scalaVersion := "2.13.18"

// What decides, without Spark.
lazy val core = Core.project

// The engine, once for each Spark minor: projects spark40 to spark43, of the same sources and of the few lines in
// jvm/src/main/spark-X.Y that are meant for that minor. A further minor is one more line here.
lazy val engines = engine(
  "4.0" -> (fromCentral("4.0.4") ++ untested),
  "4.1" -> (fromCentral("4.1.3") ++ untested),
  "4.2" -> (fromCentral("4.2.0") ++ SparkTests.settings ++ SparkSuites.settings ++ TestTiers.settings),
  "4.3" -> (fromPip ++ untested))

// JMH; `bench/Jmh/run -f1 .*Propagation.*` runs what matches. Tables of whole queries: `bench/runMain ...OrderTable`.
lazy val bench = Project("bench", file("target/bench"))
  .enablePlugins(JmhPlugin)
  .dependsOn(core, LocalProject("spark42") % "compile->compile;compile->provided")
  .settings(
    compilerOptions,
    sourcesIn(Compile, "jvm/src/bench"),
    run / fork := true,
    run / javaOptions ++= "-Xmx3g" +: SparkTests.opens,
    target := baseDirectory.value,
    publish / skip := true)

// Nothing is compiled here: `kafka/kafkaJars` copies what the examples need to start a broker and to read from it.
lazy val kafka = Project("kafka", file("target/kafka"))
  .settings(KafkaJars.settings, target := baseDirectory.value, publish / skip := true)

// The same for the tests beside Delta and Iceberg: `others/otherJars`.
lazy val others = Project("others", file("target/others"))
  .settings(OtherJars.settings, target := baseDirectory.value, publish / skip := true)

lazy val tidemark = project
  .in(file("."))
  .aggregate(engines.references: _*)
  .aggregate(core, bench)
  .settings(publish / skip := true, Compile / sources := Nil, Test / sources := Nil)

// Side by side: one compiler keeps one processor busy.
addCommandAlias("jars", engines.all("package"))
addCommandAlias("jarsAndTests", s"${engines.all("package")} core/Test/compile spark42/Test/compile")
addCommandAlias("publishAll", engines.each("publish"))
addCommandAlias("publishAllSigned", engines.each("publishSigned"))
// One after the other: the projects share their sources.
addCommandAlias("format", s"core/scalafmtAll; ${engines.each("scalafmtAll")}; bench/scalafmtAll; scalafmtSbt")
// -Werror makes the compiler a part of the lint. The last one has nothing to compare with before the first release.
addCommandAlias(
  "lint",
  s"scalafmtCheckAll; scalafmtSbtCheck; Test/compile; ${engines.each("mimaReportBinaryIssues")}")
