package io.tidemark.vectors

import java.nio.file.{Files, Path, Paths}

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

/** Runs the conformance vectors against `core`; exits with 1 if one fails or says something that is not understood,
  * or if none passes.
  *
  * The file is the one that `TIDEMARK_VECTORS` names, else the project's own.
  */
object Run {

  def main(args: Array[String]): Unit = {
    val outcome = run(read(sys.env.get("TIDEMARK_VECTORS").filter(_.nonEmpty).fold(own)(Paths.get(_))))
    outcome.lines.foreach(println)
    println(s"${outcome.passed} passed, ${outcome.failed} failed, ${outcome.skipped} skipped")
    if (outcome.failed > 0 || outcome.passed == 0) sys.exit(1)
  }

  final case class Outcome(passed: Int, failed: Int, skipped: Int, lines: Seq[String]) {
    def +(that: Outcome): Outcome =
      Outcome(passed + that.passed, failed + that.failed, skipped + that.skipped, lines ++ that.lines)
  }

  def run(file: JsonNode): Outcome = {
    val top = new Fields(file)
    Seq("conventions", "properties", "title").foreach(top.ignore)
    val format = top.long("format")
    val suites = top.list("suites")
    val unknown = understood(top.requireNothingElse("the file")) ++
      Option.when(format != 1)(s"format $format is not known")
    suites.map(suite).foldLeft(failures(unknown.toSeq))(_ + _)
  }

  private def suite(json: JsonNode): Outcome = {
    val fields = new Fields(json)
    Seq("component", "source", "note").foreach(fields.ignore)
    val name = fields.text("suite")
    val vectors = fields.list("vectors")
    val unknown = failures(understood(fields.requireNothingElse(s"suite $name")).toSeq)
    val outcome =
      if (Suites.Later(name)) Outcome(0, 0, vectors.size, Seq(s"skipped $name: ${vectors.size}, for later"))
      else
        Suites.Now.get(name) match {
          case Some(runner) => vectors.map(vector(_, runner)).foldLeft(Outcome(0, 0, 0, Nil))(_ + _)
          case None => failures(Seq(s"suite '$name' is not known"))
        }
    unknown + outcome
  }

  private def vector(json: JsonNode, runner: Suites.Runner): Outcome = {
    val id = json.path("id").asText
    if (Suites.Exceptions.contains(id))
      Outcome(0, 0, 1, Seq(s"skipped $id: ${Suites.Exceptions(id)}"))
    else if (json.fieldNames.asScala.forall(Set("id", "name")))
      Outcome(0, 0, 1, Seq(s"skipped $id: it says in words only what is to happen"))
    else
      try {
        val mismatches = runner(new Vector(json))
        if (mismatches.isEmpty) Outcome(1, 0, 0, Nil)
        else {
          val lines = mismatches.map(m => s"FAILED ${m.where}\n  expected ${m.expected}\n  actual   ${m.actual}")
          Outcome(0, 1, 0, lines)
        }
      } catch { case NonFatal(e) => failures(Seq(s"$id: $e")) }
  }

  private def understood(check: => Unit): Option[String] =
    try { check; None }
    catch { case e: Unknown => Some(e.getMessage) }

  private def failures(what: Seq[String]): Outcome = Outcome(0, what.size, 0, what.map("FAILED " + _))

  def read(file: Path): JsonNode = new ObjectMapper().readTree(Files.readAllBytes(file))

  def own: Path =
    Paths.get(sys.props("tidemark.root"), "jvm/src/test/resources/vectors/conformance.json")
}
