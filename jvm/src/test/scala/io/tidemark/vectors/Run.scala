package io.tidemark.vectors

import java.nio.file.{Files, Path, Paths}

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

/** Runs the conformance vectors against `core`; exits with 1 if one fails, or if none passes.
  *
  * A vector that says something which is not understood is not run, and counts as neither passed nor failed. The file is
  * the one that `TIDEMARK_VECTORS` names, else the project's own; the page beside that one says what it may contain.
  */
object Run {

  def main(args: Array[String]): Unit = {
    val outcome = run(read(sys.env.get("TIDEMARK_VECTORS").filter(_.nonEmpty).fold(own)(Paths.get(_))))
    outcome.lines.foreach(println)
    println(s"${outcome.passed} passed, ${outcome.failed} failed, ${outcome.notRun} not run")
    if (outcome.failed > 0 || outcome.passed == 0) sys.exit(1)
  }

  final case class Outcome(passed: Int, failed: Int, notRun: Int, lines: Seq[String]) {
    def +(that: Outcome): Outcome =
      Outcome(passed + that.passed, failed + that.failed, notRun + that.notRun, lines ++ that.lines)
  }

  private val none = Outcome(0, 0, 0, Nil)

  def run(file: JsonNode): Outcome = {
    val top = new Fields(file)
    Seq("conventions", "properties", "title").foreach(top.ignore)
    val format = top.long("format")
    val suites = top.list("suites")
    val unknown = understood(top.requireNothingElse("the file")) ++
      Option.when(format != 1)(s"format $format is not known")
    suites.map(suite).foldLeft(unknown.map(failure).foldLeft(none)(_ + _))(_ + _)
  }

  private def suite(json: JsonNode): Outcome = {
    val fields = new Fields(json)
    Seq("component", "source", "note").foreach(fields.ignore)
    val name = fields.text("suite")
    val vectors = fields.list("vectors")
    val unknown = understood(fields.requireNothingElse(s"suite $name"))
    Suites.Now.get(name) match {
      case Some(runner) if unknown.isEmpty => vectors.map(vector(_, runner)).foldLeft(none)(_ + _)
      case _ =>
        val why = unknown.getOrElse(if (Suites.Later(name)) "for later" else "such a suite is not known")
        Outcome(0, 0, vectors.size, Seq(s"not run: $name, ${vectors.size} vectors: $why"))
    }
  }

  private def vector(json: JsonNode, runner: Suites.Runner): Outcome = {
    val id = json.path("id").asText
    if (Suites.Exceptions.contains(id)) notRun(id, Suites.Exceptions(id))
    else if (json.fieldNames.asScala.forall(Set("id", "name")))
      notRun(id, "it says in words only what is to happen")
    else
      try {
        val mismatches = runner(new Vector(json))
        if (mismatches.isEmpty) Outcome(1, 0, 0, Nil)
        else {
          val lines = mismatches.map(m => s"FAILED ${m.where}\n  expected ${m.expected}\n  actual   ${m.actual}")
          Outcome(0, 1, 0, lines)
        }
      } catch {
        case e: Unknown => notRun(id, e.getMessage)
        case NonFatal(e) => failure(s"$id: $e")
      }
  }

  private def understood(check: => Unit): Option[String] =
    try { check; None }
    catch { case e: Unknown => Some(e.getMessage) }

  private def notRun(id: String, why: String): Outcome = Outcome(0, 0, 1, Seq(s"not run: $id: $why"))

  private def failure(what: String): Outcome = Outcome(0, 1, 0, Seq(s"FAILED $what"))

  def read(file: Path): JsonNode = new ObjectMapper().readTree(Files.readAllBytes(file))

  def own: Path =
    Paths.get(sys.props("tidemark.root"), "jvm/src/test/resources/vectors/conformance.json")
}
