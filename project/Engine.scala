import Fail.fail
import sbt._
import sbt.Keys._

/** The engine's projects, one for each Spark minor. */
final class Engine(val componentProjects: Seq[Project]) extends CompositeProject {
  def references: Seq[ProjectReference] = componentProjects.map(project => LocalProject(project.id))

  /** A command line that does the task in each of them, one after the other. */
  def each(task: String): String = componentProjects.map(project => s"${project.id}/$task").mkString("; ")

  /** A command line that does the task in all of them side by side. */
  def all(task: String): String = componentProjects.map(project => s"${project.id}/$task").mkString("all ", " ", "")
}

/** How the engine is built against one Spark minor. */
object Engine {

  /** From each Spark minor, and where its Spark comes from. */
  def engine(minors: (String, Seq[Setting[_]])*): Engine =
    new Engine(minors.map { case (minor, spark) => of(minor, spark) })

  /** The jar of a project is thin: our classes only, Spark brings everything else. */
  private def of(minor: String, spark: Seq[Setting[_]]): Project =
    Project(s"spark${minor.filter(_.isDigit)}", file(s"target/spark-$minor"))
      .dependsOn(core % "compile->compile;test->test")
      .settings(
        compilerOptions,
        sourcesIn(Compile, "jvm/src/main"),
        Compile / unmanagedSources / excludeFilter := Core.sources.value,
        Compile / unmanagedSourceDirectories ++= (root.value / "jvm/src/main" * isFolderFor(minor)).get().sorted,
        sourcesIn(Test, "jvm/src/test"),
        Test / unmanagedSources / excludeFilter := Core.testSources.value,
        // The core is a part of the jar, and nothing that anybody would have to resolve.
        projectDependencies := Nil,
        Compile / packageBin / mappings ++= (core / Compile / packageBin / mappings).value,
        Compile / packageBin / mappings += root.value / "LICENSE" -> "META-INF/LICENSE",
        target := baseDirectory.value,
        sparkMinor := minor,
        moduleName := s"tidemark-spark-$minor",
        Compile / sourceGenerators += buildInfo.taskValue,
        Publishing.settings(core),
        spark)

  private def core = LocalProject("core")

  val sparkMinor = settingKey[String]("The Spark minor that a project is built for, as in 4.2.")

  val compilerOptions: Seq[Setting[_]] = Seq(
    scalacOptions ++= Seq("-release:17", "-encoding", "utf8", "-deprecation", "-feature", "-unchecked"),
    scalacOptions ++= Seq("-Xlint", "-Wdead-code", "-Werror"),
    // Tests throw away results of assertions all the time.
    Test / scalacOptions -= "-Wdead-code")

  /** What minors do not share is in `spark-4.2`, for that minor alone, `spark-4.2+`, for it and all later minors, or
    * `spark-4.2-`, for it and all earlier minors.
    */
  private def isFolderFor(minor: String): NameFilter = {
    val Folder = """spark-(\d+\.\d+)([+-]?)""".r
    def is(range: String) = VersionNumber(s"$minor.0").matchesSemVer(SemanticSelector(range))
    new SimpleFilter({
      case Folder(from, "+") => is(s">=$from.0")
      case Folder(to, "-") => is(s"<=$to.0")
      case Folder(only, _) => minor == only
      case _ => false
    })
  }

  /** Scala sources in `folder/scala`, resources in `folder/resources`. */
  def sourcesIn(where: Configuration, folder: String): Seq[Setting[_]] = Seq(
    where / unmanagedSourceDirectories := Seq(root.value / folder / "scala"),
    where / unmanagedResourceDirectories := Seq(root.value / folder / "resources"))

  /** Spark as Maven Central has it. */
  def fromCentral(version: String): Seq[Setting[_]] =
    Seq(libraryDependencies += "org.apache.spark" %% "spark-sql" % version % Provided)

  /** Spark as it is in pip's pyspark, for a version that Central does not have. */
  def fromPip: Seq[Setting[_]] = Seq(Compile / unmanagedJars := pipJars(root.value / ".venv", sparkMinor.value))

  /** Scala tests run on one version, the newest that Central has together with its tests jars. */
  def untested: Seq[Setting[_]] = Seq(Test / unmanagedSources := Nil)

  /** The jars of a pyspark of this minor: where the environment says, or in the virtual environment. */
  private def pipJars(venv: File, minor: String): Classpath = {
    val variable = s"TIDEMARK_SPARK_${minor.filter(_.isDigit)}_JARS"
    val packages = venv / "lib" * "python3.*" / "site-packages" +++ venv * "spark-*"
    val folders = sys.env.get(variable).map(file).toSeq ++ (packages / "pyspark" / "jars").get()
    folders.find(isOf(minor)).map(folder => (folder * "*.jar").classpath).getOrElse {
      fail(
        s"There are no jars of Spark $minor in $venv. Fix this by running `make setup`, or by setting $variable " +
          s"to the folder of jars inside a pyspark $minor.")
    }
  }

  private def isOf(minor: String)(jars: File): Boolean = (jars * s"spark-sql_2.13-$minor.*.jar").get().nonEmpty

  private def root = ThisBuild / baseDirectory

  private val buildInfo = Def.task {
    val target = (Compile / sourceManaged).value / "io" / "tidemark" / "BuildInfo.scala"
    val text =
      s"""package io.tidemark
        |
        |/** What this jar was built as. */
        |object BuildInfo {
        |  val version: String = "${version.value}"
        |  val sparkMinor: String = "${sparkMinor.value}"
        |}
        |""".stripMargin
    // Written only when it changes, so that nothing is compiled again.
    if (!target.exists || IO.read(target) != text) IO.write(target, text)
    Seq(target)
  }
}
