package io.tidemark

import org.scalactic.source.Position
import org.scalatest.Tag
import org.scalatest.funsuite.AnyFunSuiteLike

/** Which tests are in `make test`, and which in `make test-more` or `make test-long` alone.
  *
  * A suite that is not named here is in `make test` whole, but for the tests that it marks with `testMore`. Every test is in
  * exactly one of the three, by its tag: a test without one is in `make test`.
  */
object Tiers {

  object More extends Tag("io.tidemark.More")
  object Long extends Tag("io.tidemark.Long")

  /** Which tests a tier has, as arguments of ScalaTest: `-n` takes those with a tag, and `-l` leaves them out. */
  def choice(tier: String): Seq[(String, Tag)] = tier match {
    case "check" | "test" => Seq("-l" -> More, "-l" -> Long)
    case "more" => Seq("-n" -> More)
    case "long" => Seq("-n" -> Long)
  }

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
    "EvictionSlackSuite" ->
      Seq("with much state evicts less often than", "says so", "does not start", "copied", "is refused"),
    "JoinSuite" -> Seq(
      "is on time by its own watermark",
      "an outer join emits",
      "equal windows",
      "a left semi join emits",
      "keeps no more rows",
      "still evicts rows",
      "fails with an error"),
    "LeftoverMarksSuite" ->
      Seq("a Python map has added", "an aggregation by two times", "does not decide", "is the only time", "is_late"),
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
      "a batch with data gives the same result in a query with splits",
      "a batch with data that the sink skips still takes effect in a union of aggregations",
      "while its entry was written",
      "eight windows that have closed"),
    "CheckpointDamageSuite" -> Seq("cut off", "of another batch", "resumes from Spark's watermark"),
    "CheckpointTroubleSuite" -> Nil,
    "ManySplitsRestartSuite" -> Nil,
    "EntryFilesSuite" -> Seq("one entry file", "left to Spark"),
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

  /** Of the tests that [[essential]] leaves out, those in `make test-long` alone: further variations of what is in
    * `make test-more`.
    */
  val long: Map[String, Seq[String]] = Map(
    "EqualWatermarksJoinSuite" -> Seq("(right_outer)", "(full_outer)", "in update mode"),
    "StockRunsSuite" -> Seq("update mode with Trigger."),
    "StatelessOperatorsSuite" -> Seq("filters", "through renamed columns", "exploded rows", "sliding windows"),
    "MarkedColumnsSuite" -> Seq("with exploded structs"),
    "PauseOfAllSuite" -> Seq("late, with on_return=catch_up"),
    "ChainsSuite" -> Seq(
      "windows by the left time of a join (inner)",
      "after a left semi join",
      "a union of joins",
      "a left outer join of two window aggregations",
      "windows by the left time of a join (left_outer)",
      "a full outer join of two deduplicated streams",
      "deduplication by one of the two times",
      "two joins (inner)",
      "a second join",
      "beside an aggregated time",
      "windows of two different times"),
    "RestartSuite" -> Seq(
      "restarting before every step changes no batch of a query with splits",
      "restarting before every step changes no batch of a union",
      "a no-data batch gives the same result in a union",
      "a no-data batch gives the same result in an aggregation by a carried",
      "a no-data batch that the sink skips still takes effect in an aggregation by a carried",
      "without kills, with no-data batches: false",
      "a no-data batch gives the same result in a query with splits",
      "a batch with data gives the same result in an outer join",
      "a batch with data gives the same result in a query with a watermark",
      "skips still takes effect in an outer join",
      "skips still takes effect in a query with"))

  /** Tests of Spark's own that wait a minute for a refusal which does not come: Tidemark runs these queries. They are in
    * `make test-long` alone.
    */
  val waits: Map[String, Set[String]] = Map(
    "EventTimeWatermarkSuite" -> Set(
      "multiple event time columns in an input DataFrame for stateful operator is not allowed",
      "overriding watermark should not be allowed by default"))

  /** The tests that a suite leaves to later tiers, each with its tag. */
  def later(suite: String, tests: Set[String]): Map[String, Tag] = {
    def isOneOf(test: String, parts: Seq[String]) = parts.exists(test.contains(_))
    essential.get(suite).fold(Map.empty[String, Tag]) { parts =>
      tests.filterNot(isOneOf(_, parts)).map { test =>
        test -> (if (isOneOf(test, long.getOrElse(suite, Nil))) Long else More)
      }.toMap
    }
  }
}

/** A suite some tests of which may be in later tiers: those marked with `testMore` or `testLong`, and those
  * that [[Tiers]] says.
  */
trait Tiered extends AnyFunSuiteLike {

  protected def testMore(name: String)(body: => Any)(implicit position: Position): Unit = test(name, Tiers.More)(body)
  protected def testLong(name: String)(body: => Any)(implicit position: Position): Unit = test(name, Tiers.Long)(body)

  override def tags: Map[String, Set[String]] = {
    val own = super.tags
    own ++ Tiers.later(getClass.getSimpleName, testNames -- own.keys).map { case (test, tag) => test -> Set(tag.name) }
  }
}
