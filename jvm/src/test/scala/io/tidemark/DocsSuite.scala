package io.tidemark

import java.nio.file.{Files, Path, Paths}
import java.time.Instant

import io.tidemark.core.support.WholeEntry

import org.scalatest.funsuite.AnyFunSuite

import org.apache.spark.sql.tidemark.support.ReportSample

/** The documentation states what the code does. */
class DocsSuite extends AnyFunSuite {

  private val root: Path = Paths.get(sys.props.getOrElse("tidemark.root", fail("tidemark.root is not set")))
  private def read(path: String): String = Files.readString(root.resolve(path))

  test("docs/settings.md matches the settings in the code; `make golden` writes it") {
    assert(read("docs/settings.md") == GenerateDocs.settings)
  }

  test("docs/stock.md lists each of Spark's own tests that differ and the reason; `make golden` writes the table") {
    val page = read("docs/stock.md")
    assert(page == GenerateDocs.withDifferences(page, GenerateDocs.differences(root)))
  }

  test("docs/late.md has the table of operators that drop late rows; `make golden` writes it") {
    val page = read("docs/late.md")
    assert(page == GenerateDocs.withLateRows(page))
  }

  test("docs/pictures/report.svg is what a report is drawn as; `make golden` draws it") {
    assert(read("docs/pictures/report.svg") == ReportSample.picture)
  }

  test(
    "docs/why.md has a sentence and a section for each reason why nothing comes out; `make golden` writes the table") {
    val page = read("docs/why.md")
    assert(page == GenerateDocs.withVerdicts(page))
    assert(VerdictTable.examples.map(_.code).toSet == VerdictTable.codes)
    assert(page.linesIterator.collect { case s"### $code" => code }.toSeq == VerdictTable.examples.map(_.code))
  }

  test("docs/explain.md has the sentence of each finding; `make golden` writes the table") {
    val page = read("docs/explain.md")
    assert(page == GenerateDocs.withTraps(page))
    assert(TrapTable.examples.map(_.code).toSet == TrapTable.codes)
  }

  test("every default is one of the values of its setting") {
    TidemarkConf.all.foreach(setting => assert(setting.values.contains(GenerateDocs.default(setting)), setting.key))
  }

  test("every refusal of the engine is explained in docs/errors.md") {
    val codes = """TidemarkError\(\s*"([A-Z_]+)"""".r.findAllMatchIn(ErrorSources.text).map(_.group(1)).toSet
    assert(codes.size > 5)
    val explained = read("docs/errors.md").linesIterator.toSet
    assert(codes.filterNot(code => explained.contains(s"### $code")).isEmpty)
  }

  test("the example in docs/format.md is a valid entry") {
    val page = read("docs/format.md")
    val example = page.split("<!-- example")(1).split("```")(1)
    val pairs = "^ *((?:[0-9a-f]{2} )*[0-9a-f]{2})(?=  |$)".r
    val hex = example.linesIterator.flatMap(pairs.findFirstMatchIn(_)).map(_.group(1).trim).mkString(" ")
    val entry = WholeEntry.decode(hex.split(' ').map(Integer.parseInt(_, 16).toByte))
    val reached = entry.origins.map { case (name, state) =>
      name.toString -> state.watermark.millis.map(Instant.ofEpochMilli)
    }
    assert(reached == Map("clicks" -> Some(Instant.parse("2024-05-01T10:20:00Z"))))
    assert(page.contains(s"that is not split, ${WholeEntry.encode(entry).length} bytes:"))
  }
}
