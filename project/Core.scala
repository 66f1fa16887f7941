import sbt._
import sbt.Keys._

/** The part of the engine that decides, as a project of its own: compiled once, with no Spark on its class path.
  *
  * Its sources stand beside those of the engine. Its classes are a part of each engine's jar; it has no jar of its own.
  */
object Core {

  val project: Project = Project("core", file("target/core"))
    .settings(
      Engine.compilerOptions,
      Engine.sourcesIn(Compile, "jvm/src/main"),
      Engine.sourcesIn(Test, "jvm/src/test"),
      // They are the engine's.
      Compile / unmanagedResourceDirectories := Nil,
      Compile / unmanagedSources / includeFilter := sources.value,
      Test / unmanagedSources / includeFilter := testSources.value,
      target := baseDirectory.value,
      publish / skip := true,
      // It reads the conformance vectors; the version is that of the Spark which the engine is tested on.
      libraryDependencies += "com.fasterxml.jackson.core" % "jackson-databind" % "2.21.2" % Test,
      ForkedTests.settings,
      Test / javaOptions ++= javaOptionsOf((ThisBuild / baseDirectory).value, target.value))

  /** Main sources that are the core's and not the engine's. */
  def sources: Def.Initialize[FileFilter] = in("jvm/src/main", "core")

  /** Tests that need no Spark, and what tells the tests of a tier. */
  def testSources: Def.Initialize[FileFilter] =
    in("jvm/src/test", "core", "oracle", "vectors", "HangingTests.scala", "Lane.scala", "Tiers.scala")

  /** What a JVM needs to run the core's tests. They are pure computation, so both of Java's compilers are on. */
  def javaOptionsOf(root: File, target: File): Seq[String] = "-Xmx2g" +: ForkedTests.javaOptionsOf(root, target)

  /** Scala files in these folders of io.tidemark, or of these names there. */
  private def in(folder: String, names: String*): Def.Initialize[FileFilter] = Def.setting {
    val places = names.map((ThisBuild / baseDirectory).value / folder / "scala/io/tidemark" / _)
    new SimpleFileFilter(file =>
      file.getName.endsWith(".scala") && places.exists(place => file == place || IO.relativize(place, file).nonEmpty))
  }
}
