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

  private def counts(outcome: Run.Outcome) = (outcome.passed, outcome.failed, outcome.notRun)

  test("the project's own vectors pass, and each vector that is not run has a known reason") {
    val outcome = Run.run(Run.read(Run.own))
    assert(outcome.lines.filter(_.startsWith("FAILED")) === Nil)
    assert((outcome.failed, outcome.passed) === ((0, 87)))
    val reasons = Suites.Exceptions.values.toSeq ++ Seq("for later", "it says in words only what is to happen")
    assert(outcome.lines.filterNot(line => reasons.exists(line.endsWith)) === Nil)
  }

  test("a vector passes if its outputs equal those of the coalescer") {
    assert(counts(run("hz.coalescer", sound)) === ((1, 0, 0)))
  }

  test("a vector with a different output fails and shows the expected and the actual output") {
    val outcome = run("hz.coalescer", sound.replace("[7]", "[8]"))
    assert(counts(outcome) === ((0, 1, 0)))
    assert(outcome.lines.mkString("\n") === "FAILED x-1 step 1 (wm)\n  expected [8]\n  actual   [7]")
  }

  test("a vector with an unknown suite, operation or field is not run") {
    assert(counts(run("hz.other", sound)) === ((0, 0, 1)))
    val unknown = run("hz.coalescer", sound.replace(""""op": "wm"""", """"op": "watermark""""))
    assert(counts(unknown) === ((0, 0, 1)))
    assert(unknown.lines === Seq("not run: x-1: operation 'watermark'"))
    assert(counts(run("hz.coalescer", sound.replace("queues", "inputs"))) === ((0, 0, 1)))
    assert(counts(run("hz.coalescer", sound.replace(""""v": 7""", """"v": 7, "twice": true"""))) === ((0, 0, 1)))
  }

  test("a file of another format version fails") {
    val file = new ObjectMapper().readTree("""{"format": 2, "suites": [], "more": 1}""")
    assert(counts(Run.run(file)) === ((0, 2, 0)))
  }

  test("suites that are not supported yet are not run, and their vectors are counted by suite") {
    val outcome = run("hz.slidingWindow", sound)
    assert(counts(outcome) === ((0, 0, 1)))
    assert(outcome.lines === Seq("not run: hz.slidingWindow, 1 vectors: for later"))
  }

  private def of(steps: String, fields: String = "") = s"""{"id": "x-3", $fields "steps": [$steps]}"""

  test("a probe may have any of its fields or none") {
    for (suite <- Seq("hz.coalescer", "hz.keyed"); fields <- Seq("", """, "idle_pending": false"""))
      assert(counts(run(suite, of(s"""{"op": "probe"$fields}"""))) === ((1, 0, 0)))
    assert(counts(run("hz.keyed", of("""{"op": "probe", "keys": [], "idle_pending": false}"""))) === ((1, 0, 0)))
    assert(counts(run("hz.keyed", of("""{"op": "probe", "keys": [1]}"""))) === ((0, 1, 0)))
    assert(counts(run("hz.coalescer", of("""{"op": "probe", "idle_pending": true}"""))) === ((0, 1, 0)))
  }

  test("a null in a state is not compared, for a channel, a part of a channel or a limit") {
    def state(of: String) = s"""{"op": "wm", "q": 0, "v": 5, "out": [5], "state": {"0": $of}}"""
    for (same <- Seq("null", "[null, true]", "[5, null]", "[5, true]"))
      assert(counts(run("flink.valve", of(state(same)))) === ((1, 0, 0)), same)
    for (other <- Seq("[null, false]", "[6, null]"))
      assert(counts(run("flink.valve", of(state(other)))) === ((0, 1, 0)), other)
    val join = """"left_keys": {"0": 0}, "right_keys": {"1": 0}, "postpone": {"0": {"1": 0}, "1": {"0": 0}},"""
    assert(counts(run("hz.streamJoin.inner", of("""{"op": "state", "limit": {"0": null}}""", join))) === ((1, 0, 0)))
    assert(counts(run("hz.streamJoin.inner", of("""{"op": "state", "limit": {"0": 7}}""", join))) === ((0, 1, 0)))
  }

  test("the rows and buffers of a join and its conditions without time are ignored") {
    val join =
      """"left_keys": {"0": 0}, "right_keys": {"1": 0}, "postpone": {"0": {"1": 0}}, "extra": ["x"], "right_columns": 2,"""
    val step = """{"op": "state", "buffer_left": [[1]], "buffer_right": null}"""
    assert(counts(run("hz.streamJoin.outer", of(step, join))) === ((1, 0, 0)))
  }

  test("a source with a frame of 0 emits no watermark, and an event without a time advances none") {
    val add = """{"op": "add_partitions", "now": 0, "n": 1, "out": []}"""
    def event(out: String) = s"""{"op": "event", "now": 0, "part": 0, "ts": 10, "out": [$out]}"""
    val none = """{"op": "event_no_time", "now": 0, "part": 0, "out": [{"err": "no-time"}]}"""
    val ten = """{"ev": 10}"""
    assert(counts(run("hz.eventTimeMapper", of(s"$add, ${event(ten)}", """"frame": 0,"""))) === ((1, 0, 0)))
    assert(counts(run("hz.eventTimeMapper", of(s"""$add, $none, ${event(s"""{"wm": 10}, $ten""")}"""))) === ((1, 0, 0)))
    assert(counts(run("hz.eventTimeMapper", of(s"$add, ${none.replace("err", "ev")}"))) === ((0, 1, 0)))
  }

  test("an input that has ended refuses further operations, with or without a key") {
    val steps =
      """[{"op": "done", "q": 0, "out": []}, {"op": "event", "q": 0, "out": []}, {"op": "done", "q": 0, "out": [{"err": "duplicate-done"}]}, {"op": "idle", "q": 0, "out": [{"err": "not-monotonic"}]}]"""
    for (suite <- Seq("hz.coalescer", "hz.keyed"))
      assert(counts(run(suite, s"""{"id": "x-2", "queues": 2, "steps": $steps}""")) === ((1, 0, 0)))
  }
}
