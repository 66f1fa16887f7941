import Engine._

ThisBuild / organization := "io.tidemark"
ThisBuild / version := Version.read(file("python/tidemark/_version.py"))
ThisBuild / scalaVersion := "2.13.18"

// The engine, once for each Spark minor: the same sources, and that minor's few lines in jvm/src/main/spark-X.Y.
// A further minor is one more line here, and its name in the list of `tidemark`.
lazy val spark42 = engine("4.2", fromCentral("4.2.0")).settings(SparkTests.settings, SparkSuites.settings)
lazy val spark43 = engine("4.3", fromPip)

// JMH; `bench/Jmh/run -f1 .*Propagation.*` runs what matches.
lazy val bench = Project("bench", file("target/bench"))
  .enablePlugins(JmhPlugin)
  .dependsOn(spark42)
  .settings(
    Engine.compiler,
    fromCentral("4.2.0", Compile),
    Jmh / run / javaOptions ++= SparkTests.opens,
    sourcesIn(Compile, "jvm/src/bench"),
    target := baseDirectory.value,
    publish / skip := true)

lazy val tidemark = project
  .in(file("."))
  .aggregate(spark42, spark43, bench)
  .settings(publish / skip := true, Compile / sources := Nil, Test / sources := Nil)

addCommandAlias("jars", "spark42/package; spark43/package")
// One after the other: the projects share their sources.
addCommandAlias("format", "spark42/scalafmtAll; spark43/scalafmtAll; bench/scalafmtAll; scalafmtSbt")
// -Werror makes the compiler a part of the lint.
addCommandAlias("lint", "scalafmtCheckAll; scalafmtSbtCheck; Test/compile")
