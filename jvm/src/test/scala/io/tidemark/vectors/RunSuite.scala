package io.tidemark.vectors

import com.fasterxml.jackson.databind.ObjectMapper
import org.scalatest.funsuite.AnyFunSuite

/** The runner itself: what fails, and what it must not let pass. */
class RunSuite extends AnyFunSuite {

  private def run(suite: String, vector: String): Run.Outcome = Run.run(
    new ObjectMapper().readTree(
      s"""{"format": 1, "title": "t", "suites": [{"suite": "$suite", "vectors": [$vector]}]}"""))

  private val sound =
    """{"id": "x-1", "queues": 2, "steps": [{"op": "idle", "q": 0, "out": []}, {"op": "wm", "q": 1, "v": 7, "out": [7]}]}"""

  private def counts(outcome: Run.Outcome) = (outcome.passed, outcome.failed, outcome.skipped)

  test("the project's own vectors agree") {
    val outcome = Run.run(Run.read(Run.own))
    info(s"${outcome.passed} passed, ${outcome.skipped} skipped")
    assert(outcome.lines.filter(_.startsWith("FAILED")) === Nil)
    assert(outcome.failed === 0 && outcome.passed >= 60)
  }

  test("a vector passes where its outputs are the coalescer's") {
    assert(counts(run("hz.coalescer", sound)) === ((1, 0, 0)))
  }

  test("another output fails, and is shown beside the one that came") {
    val outcome = run("hz.coalescer", sound.replace("[7]", "[8]"))
    assert(counts(outcome) === ((0, 1, 0)))
    assert(outcome.lines.mkString("\n") === "FAILED x-1 step 1 (wm)\n  expected [8]\n  actual   [7]")
  }

  test("what is not understood fails: a suite, an operation, a field of a vector, of a step, of the file") {
    assert(counts(run("hz.unheard", sound)) === ((0, 1, 0)))
    assert(counts(run("hz.coalescer", sound.replace(""""op": "wm"""", """"op": "watermark""""))) === ((0, 1, 0)))
    assert(counts(run("hz.coalescer", sound.replace("queues", "inputs"))) === ((0, 1, 0)))
    assert(counts(run("hz.coalescer", sound.replace(""""v": 7""", """"v": 7, "twice": true"""))) === ((0, 1, 0)))
    val file = new ObjectMapper().readTree("""{"format": 2, "suites": [], "more": 1}""")
    assert(counts(Run.run(file)) === ((0, 2, 0)))
  }

  test("suites for later are skipped by name, and counted") {
    val outcome = run("hz.async", sound)
    assert(counts(outcome) === ((0, 0, 1)))
    assert(outcome.lines === Seq("skipped hz.async: 1, for later"))
  }

  test("an input that has ended can do nothing more, with a key or without") {
    val steps =
      """[{"op": "done", "q": 0, "out": []}, {"op": "event", "q": 0, "out": []}, {"op": "done", "q": 0, "out": [{"err": "duplicate-done"}]}, {"op": "idle", "q": 0, "out": [{"err": "not-monotonic"}]}]"""
    for (suite <- Seq("hz.coalescer", "hz.keyed"))
      assert(counts(run(suite, s"""{"id": "x-2", "queues": 2, "steps": $steps}""")) === ((1, 0, 0)))
  }
}
