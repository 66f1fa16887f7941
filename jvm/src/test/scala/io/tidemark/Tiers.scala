package io.tidemark

import org.scalactic.source.Position
import org.scalatest.Tag
import org.scalatest.funsuite.AnyFunSuiteLike

/** Which tests are in `make test`, and which in `make test-more` alone.
  *
  * A suite that is not named here is in `make test` whole, but for the tests that it marks with `testMore`. Every test is in
  * exactly one of the two, as it bears the tag or does not.
  */
object Tiers {

  object More extends Tag("io.tidemark.More")

  /** Of these suites only the named tests are in `make test`, each by a part of its name; no part means none of them.
    *
    * What is left out is a variation of something that stays: another mode, another kind of join, another moment.
    */
  val essential: Map[String, Seq[String]] = Map(
    // A query of one watermark stays as it was. Spark's own suites say so as well.
    "StockAggregationsSuite" -> Seq("tumbling windows", "session windows, in append"),
    "StockOperatorsSuite" -> Seq(
      "deduplication by event time",
      "deduplication within the watermark",
      "windows of a union of a stream with itself",
      "flatMapGroupsWithState"),
    "StockRunsSuite" -> Nil,
    "EqualWatermarksJoinSuite" -> Nil,
    "OneWatermarkJoinSuite" -> Nil,
    "StockOddTimesSuite" -> Nil,
    "StockRocksDbSuite" -> Nil,
    // The fuzz suite compares joins with an oracle too.
    "JoinOracleSuite" -> Nil,
    "StateStoresSuite" -> Nil,
    // Operators, one after the other.
    // Restarts and the suite of unions have a union of aggregations too.
    "ChainsSuite" -> Seq("windows by a carried time match"),
    "MarkedColumnsSuite" -> Seq(
      "outer join matches stock Spark with mapped rows",
      "rows are late on a mapped side",
      "a common table expression that is read twice",
      "mark that a table brings along",
      "a table that a stream has written"),
    "ClockStepsSuite" ->
      Seq(
        "when a window ends",
        "several overlapping windows",
        "while deduplication has rows in state",
        "an AvailableNow query ends"),
    "StatelessOperatorsSuite" -> Seq("a union of windows and window_time"),
    "DueWindowsSuite" -> Seq(
      "neither a state scan",
      "the plan shows",
      "hourly windows are",
      "overlapping windows",
      "windows after deduplication"),
    "DueWindowsInPlansSuite" -> Seq("left overdue", "for a day", "omits their empty input", "reads its watermark"),
    "DueWindowsRestartSuite" -> Seq("while its entry", "after its commit"),
    "EvictionSlackSuite" -> Seq("with much state evicts less often than", "does not start", "copied", "is refused"),
    "JoinSuite" -> Seq(
      "is on time by its own watermark",
      "an outer join emits",
      "equal windows",
      "a left semi join emits",
      "keeps no more rows",
      "still evicts rows",
      "fails with an error"),
    "LeftoverMarksSuite" -> Seq("an aggregation by two times", "does not decide", "is the only time", "is_late"),
    "UnionSuite" -> Seq("does not wait", "the slowest input", "comes and goes"),
    "SeveralTimesInsideSuite" -> Seq(
      "for struct(t, u) with u before t",
      "a null beside",
      "carries both, with t first",
      "with u first, by t"),
    "RedefinitionSuite" -> Seq("after a join", "two watermarks on one stream"),
    "GroupStatesSuite" -> Seq("for late rows, timeouts and reads"),
    // Restarts and kills.
    "RestartSuite" -> Seq(
      "the watermark of each input survives",
      "restarting before every step changes no batch of an outer join",
      "restarting before every step changes no batch of a query with splits",
      "a batch with data gives the same result in a query with splits",
      "a batch with data that the sink skips still takes effect in a union of aggregations",
      "while its entry was written",
      "eight windows that have closed"),
    "CheckpointDamageSuite" -> Seq("cut off", "of another batch", "resumes from Spark's watermark"),
    "CheckpointTroubleSuite" -> Nil,
    "ManySplitsRestartSuite" -> Nil,
    "EntryFilesSuite" -> Seq("one entry file", "old entries are deleted", "left to Spark"),
    "LeavingSuite" -> Seq(
      "that stock Spark began resumes",
      "stock Spark resumes from the minimum",
      "leaves Tidemark after a batch and returns resumes"),
    "PlanChangesSuite" -> Seq("a watermark that is added", "is removed", "change places, Spark", "split differently"),
    // Splits and silence.
    "SplitsSuite" -> Seq(
      "lags behind",
      "in several tasks",
      "a split may be text",
      "a split may be a struct",
      "an expected split",
      "survives column pruning",
      "more splits than are allowed",
      "too far ahead"),
    "KafkaSplitsSuite" -> Seq("known before their first row", "becomes idle", "is never idle"),
    "SplitCostSuite" -> Seq("generated code around it", "no Spark job"),
    "SilenceChangesSuite" -> Seq("for the first time", "while Spark alone ran"),
    "PauseOfAllSuite" ->
      Seq("loses no row of a device that lags, with on_return=hold", "after a kill", "a union advances"),
    "SilenceRunAgainSuite" -> Seq("in which a split became idle"),
    // Edges.
    "LateRowsOfAggregationsSuite" -> Seq("before it aggregates them"),
    "LateRowsSuite" -> Seq("deduplication counts", "each side by", "one partition"),
    "RealTimeSuite" -> Nil,
    "ContinuousModeSuite" -> Nil)

  /** Tests of Spark's own that wait a minute for a refusal which does not come: Tidemark runs these queries. They are in
    * `make test-more` alone.
    */
  val waits: Map[String, Set[String]] = Map(
    "EventTimeWatermarkSuite" -> Set(
      "multiple event time columns in an input DataFrame for stateful operator is not allowed",
      "overriding watermark should not be allowed by default"))

  /** The tests that a suite leaves to `make test-more`. */
  def more(suite: String, tests: Set[String]): Set[String] =
    essential.get(suite).fold(Set.empty[String])(parts => tests.filterNot(test => parts.exists(test.contains(_))))
}

/** A suite some tests of which may be in `make test-more` alone: those marked with `testMore`, and those that [[Tiers]] says. */
trait Tiered extends AnyFunSuiteLike {

  protected def testMore(name: String)(body: => Any)(implicit position: Position): Unit = test(name, Tiers.More)(body)

  override def tags: Map[String, Set[String]] = {
    val tagged = super.tags
    Tiers.more(getClass.getSimpleName, testNames).foldLeft(tagged) { (all, test) =>
      all.updated(test, all.getOrElse(test, Set.empty) + Tiers.More.name)
    }
  }
}
