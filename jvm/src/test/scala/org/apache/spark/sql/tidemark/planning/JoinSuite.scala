package org.apache.spark.sql.tidemark.planning

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.optimizer.PushDownLeftSemiAntiJoin
import org.apache.spark.sql.execution.streaming.state.{HDFSBackedStateStoreProvider, RocksDBStateStoreProvider}
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.tidemark.support.WatermarkTest

class JoinSuite extends WatermarkTest {
  import testImplicits._

  private def clock(column: String) = date_format(col(column), "HH:mm")

  private def within(minutes: Int) =
    expr(s"a = b AND tb >= ta AND tb <= ta + INTERVAL $minutes MINUTES")

  // Spark has outer joins in append mode only.
  for (mode <- Seq(OutputMode.Append, OutputMode.Update))
    test(s"a row that is on time by its own watermark joins even if the other input is far ahead, in $mode mode") {
      val (left, a) = timed("ta", "0 seconds", "a")
      val (right, b) = timed("tb", "0 seconds", "b")
      val joined = a.join(b, within(120)).select($"a", clock("ta"), clock("tb"))
      testStream(joined, mode)(
        MultiAddData(left, 1 -> at("10:00"))(right, 9 -> at("12:00")),
        ProcessAllAvailable(),
        AddData(left, 2 -> at("10:30")),
        ProcessAllAvailable(),
        AddData(right, 1 -> at("11:50")),
        ProcessAllAvailable(),
        // 11:50 is late by tb (12:00); no row of ta is.
        CheckNewAnswer(),
        AddData(right, 2 -> at("12:20")),
        ProcessAllAvailable(),
        CheckNewAnswer((2, "10:30", "12:20")))
    }

  test("an outer join emits an unmatched row when the other input's watermark passes the row's time bound") {
    val (left, a) = timed("ta", "0 seconds", "a")
    val (right, b) = timed("tb", "0 seconds", "b")
    val joined = a.join(b, within(10), "left_outer").select($"a", clock("ta"), clock("tb"))
    testStream(joined)(
      MultiAddData(left, 1 -> at("10:00"), 2 -> at("11:00"))(right, 9 -> at("9:00")),
      ProcessAllAvailable(),
      CheckNewAnswer(),
      AddData(right, 9 -> at("10:30")),
      ProcessAllAvailable(),
      CheckNewAnswer((1, "10:00", null)))
  }

  private def windowed(kind: String): (
      DataFrame,
      org.apache.spark.sql.execution.streaming.runtime.MemoryStream[(Int, java.sql.Timestamp)],
      org.apache.spark.sql.execution.streaming.runtime.MemoryStream[(Int, java.sql.Timestamp)]) = {
    val (left, a) = timed("ta", "0 seconds", "a")
    val (right, b) = timed("tb", "0 seconds", "b")
    val wa = a.select($"a", window($"ta", "10 minutes").as("wa"))
    val wb = b.select($"b", window($"tb", "10 minutes").as("wb"))
    val joined = wa.join(wb, $"a" === $"b" && $"wa" === $"wb", kind)
    val out = if (kind == "left_semi") joined.select($"a", date_format($"wa.start", "HH:mm"))
    else joined.select($"a", date_format($"wa.start", "HH:mm"), $"b")
    (out, left, right)
  }

  test("a join on equal windows evicts each side by the windows of the other side") {
    val (df, left, right) = windowed("full_outer")
    testStream(df)(
      MultiAddData(left, 1 -> at("10:00"), 2 -> at("10:30"))(right, 1 -> at("10:01")),
      ProcessAllAvailable(),
      CheckNewAnswer((1, "10:00", 1)),
      AddData(right, 7 -> at("10:45")),
      ProcessAllAvailable(),
      CheckNewAnswer((2, "10:30", null)))
  }

  for (mode <- Seq(OutputMode.Append, OutputMode.Update)) test(s"a left semi join emits matched rows, in $mode mode") {
    val (df, left, right) = windowed("left_semi")
    testStream(df, mode)(
      MultiAddData(left, 1 -> at("10:00"), 2 -> at("10:30"))(right, 1 -> at("10:01")),
      ProcessAllAvailable(),
      CheckNewAnswer((1, "10:00")),
      AddData(right, 2 -> at("10:31")),
      ProcessAllAvailable(),
      CheckNewAnswer((2, "10:30")))
  }

  test("a left semi join keeps no more rows in state than stock Spark once no more rows arrive") {
    def rowsInState(): Long = {
      var rows = -1L
      val (df, left, right) = windowed("left_semi")
      testStream(df)(
        MultiAddData(left, 1 -> at("10:00"), 2 -> at("10:01"))(right, 1 -> at("10:02"), 3 -> at("10:03")),
        CheckNewAnswer((1, "10:00")),
        MultiAddData(left, 4 -> at("10:30"))(right, 5 -> at("10:31")),
        CheckNewAnswer(),
        Execute(query => rows = query.recentProgress.last.stateOperators.head.numRowsTotal))
      rows
    }
    assert(rowsInState() === 2)
    assert(stock(rowsInState()) === 2)
  }

  for ((provider, format) <- Seq(classOf[HDFSBackedStateStoreProvider] -> 2, classOf[RocksDBStateStoreProvider] -> 4))
    test(s"a batch without left rows still evicts rows of a left semi join, in state format $format") {
      def rowsInState(): Long = {
        var rows = -1L
        val (df, left, right) = windowed("left_semi")
        testStream(df)(
          MultiAddData(left, 1 -> at("10:00"), 2 -> at("10:01"))(right, 3 -> at("10:02"), 4 -> at("10:03")),
          CheckNewAnswer(),
          MultiAddData(left, 5 -> at("10:30"))(right, 6 -> at("10:31")),
          CheckNewAnswer(),
          // This batch evicts the left side up to the right side's 10:31, and the right side up to one batch earlier.
          MultiAddData(left, 7 -> at("10:32"))(right, 8 -> at("10:33")),
          CheckNewAnswer(),
          AddData(right, 9 -> at("10:34")),
          CheckNewAnswer(),
          Execute(query => rows = query.recentProgress.last.stateOperators.head.numRowsTotal))
        rows
      }
      withSQLConf(
        SQLConf.STREAMING_NO_DATA_MICRO_BATCHES_ENABLED.key -> "false",
        SQLConf.STATE_STORE_PROVIDER_CLASS.key -> provider.getName,
        SQLConf.STREAMING_JOIN_STATE_FORMAT_VERSION.key -> format.toString) {
        assert(rowsInState() === 5)
        assert(stock(rowsInState()) === 5)
      }
    }

  // If the right input has no rows, Spark moves the join below the aggregation for this one batch.
  private def semiJoinOfWindows(): Unit = {
    val (left, a) = timed("ta", "0 seconds", "a")
    val (right, b) = timed("tb", "0 seconds", "b")
    val counts = a.groupBy(window($"ta", "10 minutes").as("wa"), $"a").count()
    val wb = b.select($"b", window($"tb", "10 minutes").as("wb"))
    val out = counts.join(wb, $"a" === $"b" && $"wa" === $"wb", "left_semi")
    testStream(out.select($"a", date_format($"wa.start", "HH:mm"), $"count"))(
      MultiAddData(left, 1 -> at("10:00"), 1 -> at("10:01"))(right, 1 -> at("10:01")),
      ProcessAllAvailable(),
      CheckNewAnswer(),
      AddData(left, 2 -> at("10:15"), 2 -> at("10:16")),
      ProcessAllAvailable(),
      CheckNewAnswer((1, "10:00", 2L)),
      MultiAddData(left, 3 -> at("10:40"))(right, 2 -> at("10:19")),
      ProcessAllAvailable(),
      CheckNewAnswer((2, "10:10", 2L)))
  }

  test("a left semi join of an aggregation runs, and fails with an error if Spark moves it below the aggregation") {
    withSQLConf(SQLConf.OPTIMIZER_EXCLUDED_RULES.key -> PushDownLeftSemiAntiJoin.ruleName)(semiJoinOfWindows())
    val failed = intercept[Throwable](semiJoinOfWindows())
    assert(failed.getMessage.contains("CANNOT_LOAD_STATE_STORE"))
  }

  testMore("a three-way interval join runs with its second join by a column that the first join carried") {
    val (sa, a) = timed("ta", "0 seconds", "a")
    val (sb, b) = timed("tb", "0 seconds", "b")
    val (sc, c) = timed("tc", "0 seconds", "c")
    val joined = a
      .join(b, within(10))
      .join(c, expr("b = c AND tc >= tb AND tc <= tb + INTERVAL 10 MINUTES"), "left_outer")
      .select($"a", clock("ta"), clock("tb"), clock("tc"))
    testStream(joined)(
      AddData(sa, 1 -> at("10:00"), 2 -> at("10:20")),
      AddData(sb, 1 -> at("10:05"), 2 -> at("10:25")),
      AddData(sc, 1 -> at("10:07")),
      ProcessAllAvailable(),
      CheckNewAnswer((1, "10:00", "10:05", "10:07")),
      MultiAddData(sa, 8 -> at("11:00"))(sb, 8 -> at("12:00")),
      ProcessAllAvailable(),
      AddData(sc, 8 -> at("11:00")),
      ProcessAllAvailable(),
      CheckNewAnswer((2, "10:20", "10:25", null)))
  }
}
