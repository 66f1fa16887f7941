import scala.xml.{Elem, Node}

import Fail.fail
import com.typesafe.tools.mima.core.{Problem, ProblemFilters}
import com.typesafe.tools.mima.plugin.MimaKeys._
import sbt._
import sbt.Keys._

/** What a jar needs to be found by `--packages`, and to be in Maven Central.
  *
  * `publish` writes a Maven repository into target/sona-staging; `publishSigned` adds signatures, and sbt's `sonaUpload`
  * sends it to Central. CONTRIBUTING.md has the steps of a release.
  */
object Publishing {

  /** Releases whose public Scala API this version keeps, such as `Seq("0.1.0")`. Nothing has been released yet. */
  private val released: Seq[String] = Seq.empty

  def settings(core: ProjectReference): Seq[Setting[_]] = Seq(
    name := s"Tidemark for Spark ${Engine.sparkMinor.value}",
    organizationName := metadata("authors").value,
    description := metadata("description").value,
    homepage := Some(url(metadata("Homepage").value)),
    licenses := Seq("Apache-2.0" -> url("https://www.apache.org/licenses/LICENSE-2.0.txt")),
    scmInfo := Some(ScmInfo(url(metadata("Repository").value), "scm:git:" + metadata("Repository").value + ".git")),
    developers := List(Developer("tidemark", metadata("authors").value, "", url(metadata("Homepage").value))),
    publishTo := localStaging.value,
    // The repository in target/ may be overwritten.
    publishConfiguration := publishConfiguration.value.withOverwrite(true),
    versionScheme := Some("early-semver"),
    pomIncludeRepository := { _ => false },
    pomPostProcess := withoutDependencies,
    Compile / packageSrc / mappings ++= (core / Compile / packageSrc / mappings).value,
    // The page of a class of the engine is of no use to anybody who has only the jar.
    Compile / doc / scalacOptions := Seq("-skip-packages", "org.apache.spark:io.tidemark.core"),
    mimaPreviousArtifacts := released.map(organization.value %% moduleName.value % _).toSet,
    mimaFailOnNoPrevious := false,
    mimaBinaryIssueFilters ++=
      Seq("io.tidemark.core.*", "org.apache.spark.*").map(ProblemFilters.exclude[Problem](_)))

  /** Spark brings Scala and all libraries that the engine uses, and core's classes are in the jar. */
  private val withoutDependencies: Node => Node = {
    case pom: Elem => pom.copy(child = pom.child.filterNot(_.label == "dependencies"))
    case other => other
  }

  /** What the project says of itself is in one place, for the wheel and for the jars. */
  private def metadata(name: String): Def.Initialize[String] = Def.setting {
    val file = (ThisBuild / baseDirectory).value / "python/tidemark/pyproject.toml"
    IO.readLines(file)
      .collectFirst { case line if line.startsWith(s"$name = ") => line.split('"')(1) }
      .getOrElse(fail(s"""$file has no line $name = "..."."""))
  }
}
