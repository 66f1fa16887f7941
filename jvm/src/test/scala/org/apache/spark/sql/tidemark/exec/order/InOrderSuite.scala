package org.apache.spark.sql.tidemark.exec.order

import java.sql.Timestamp

import scala.util.Random

import io.tidemark.OrderOptions
import io.tidemark.functions.inOrder

import org.apache.spark.sql.Row
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.execution.streaming.state.{HDFSBackedStateStoreProvider, RocksDBStateStoreProvider}
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming.{GroupStateTimeout, OutputMode}
import org.apache.spark.sql.tidemark.support.{OrderTest, SeenRows}

/** Rows wait for the watermark, and are emitted by their event time. */
class InOrderSuite extends OrderTest {
  import testImplicits._

  test("a row is emitted in the batch whose watermark has passed it") {
    val (stream, df) = timed("t", "10 minutes")
    testStream(inOrder(df, "t", byId))(
      AddData(stream, 1 -> at("10:00"), 1 -> at("10:05")),
      ProcessAllAvailable(),
      CheckNewAnswer(),
      AddData(stream, 1 -> at("10:12")),
      ProcessAllAvailable(),
      // A no-data batch, because the watermark has passed a held row.
      CheckNewAnswer(1 -> at("10:00")),
      AddData(stream, 2 -> at("10:15")),
      ProcessAllAvailable(),
      CheckNewAnswer(1 -> at("10:05")),
      StopStream,
      StartStream(),
      AddData(stream, 2 -> at("10:40")),
      ProcessAllAvailable(),
      CheckNewAnswer(1 -> at("10:12"), 2 -> at("10:15")))
  }

  for ((provider, name) <-
      Seq(classOf[HDFSBackedStateStoreProvider] -> "HDFS", classOf[RocksDBStateStoreProvider] -> "RocksDB"))
    test(s"each id's rows are seen by their time, over batches and restarts, and none is lost: $name") {
      withSQLConf(
        SQLConf.STATE_STORE_PROVIDER_CLASS.key -> provider.getName,
        SQLConf.SHUFFLE_PARTITIONS.key -> "3") {
        val random = new Random(7)
        val stream = MemoryStream[(Int, Timestamp)](4)
        val df = stream.toDF().toDF("id", "t").withWatermark("t", "20 minutes")
        // Up to 20 minutes out of order, so that no row is late.
        val batches = (0 until 8).map { batch =>
          Seq.fill(60)(random.nextInt(5) ->
            new Timestamp(millis("10:00") + batch * 600000L + random.nextInt(1200) * 1000L))
        }
        val steps = batches.zipWithIndex.flatMap { case (rows, batch) =>
          val restart = if (batch % 3 == 2) Seq(StopStream, StartStream()) else Nil
          Seq(AddData(stream, rows: _*), ProcessAllAvailable()) ++ restart
        }
        val end = Seq(AddData(stream, 9 -> at("23:00")), ProcessAllAvailable(), StopStream)
        testStream(seen(inOrder(df, "t", byId)))(steps ++ end: _*)
        val found = SeenRows.byId
        assert(found.view.mapValues(_.sortBy(_.getTime)).toMap === batches.flatten.groupMap(_._1)(_._2).view.mapValues(
          _.sortBy(_.getTime)).toMap)
        assert(found.values.forall(isSorted))
      }
    }

  test("without by, all rows are one group") {
    val random = new Random(11)
    val stream = MemoryStream[(Int, Timestamp)](4)
    val df = stream.toDF().toDF("id", "t").withWatermark("t", "20 minutes")
    val batches = (0 until 4).map { batch =>
      Seq.fill(30)(random.nextInt(5) -> new Timestamp(millis("10:00") + batch * 600000L + random.nextInt(1200) * 1000L))
    }
    val steps = batches.flatMap(rows => Seq(AddData(stream, rows: _*), ProcessAllAvailable()))
    testStream(seen(inOrder(df, "t")))(
      steps ++ Seq(AddData(stream, 9 -> at("23:00")), ProcessAllAvailable()): _*)
    assert(SeenRows.all.size === 120)
    assert(isSorted(SeenRows.all.map(_._2)))
  }

  test("late rows are dropped and counted, or emitted immediately") {
    def history(dropsLate: Boolean)(late: Seq[(Int, Timestamp)], count: Long) = {
      val (stream, df) = timed("t", "0 seconds")
      testStream(inOrder(df, "t", byId.copy(dropsLate = dropsLate)))(
        AddData(stream, 1 -> at("10:30")),
        ProcessAllAvailable(),
        CheckNewAnswer(1 -> at("10:30")),
        AddData(stream, 1 -> at("10:00"), 1 -> at("10:40")),
        ProcessAllAvailable(),
        CheckNewAnswerRows((late :+ (1 -> at("10:40"))).map { case (id, time) => Row(id, time) }),
        Execute { query =>
          val metrics = Option(query.recentProgress.filter(_.numInputRows > 0).last.observedMetrics.get("tidemark"))
          assert(metrics.fold(0L)(_.getAs[Long]("late_rows")) === (if (dropsLate) count else 0L))
          val own = if (dropsLate) "late_rows_0" else "passed_rows_0"
          assert(metrics.fold(0L)(_.getAs[Long](own)) === count)
        })
    }
    history(dropsLate = true)(Nil, 1)
    history(dropsLate = false)(Seq(1 -> at("10:00")), 1)
  }

  test("a row without a time is emitted immediately") {
    val (stream, df) = timed("t", "0 seconds")
    testStream(inOrder(df, "t", byId))(
      AddData(stream, 1 -> null, 1 -> at("10:30")),
      ProcessAllAvailable(),
      CheckNewAnswer(1 -> null, 1 -> at("10:30")),
      StopStream)
  }

  test("a window behind an order is emitted in the batch in which it is without one") {
    def batches(hasOrder: Boolean) = {
      val (stream, df) = timed("t", "5 minutes")
      val rows = if (hasOrder) inOrder(df, "t", byId) else df
      val counts = rows.groupBy(window($"t", "10 minutes")).count().select($"window.start", $"count")
      testStream(counts)(
        AddData(stream, 1 -> at("10:01"), 2 -> at("10:09")),
        ProcessAllAvailable(),
        AddData(stream, 1 -> at("10:14"), 1 -> at("10:06")),
        ProcessAllAvailable(),
        CheckNewAnswer(),
        AddData(stream, 1 -> at("10:16")),
        ProcessAllAvailable(),
        CheckNewAnswerRows(Seq(Row(at("10:00"), 3L))))
    }
    batches(hasOrder = false)
    batches(hasOrder = true)
  }

  test("without waiting, each batch is ordered by itself, and no state is kept") {
    val stream = MemoryStream[(Int, Timestamp)](3)
    val df = stream.toDF().toDF("id", "t")
    testStream(seen(inOrder(df, "t", byId.copy(waits = false))))(
      AddData(stream, 1 -> at("10:05"), 1 -> at("10:01"), 2 -> at("10:09"), 1 -> at("10:03"), 2 -> at("10:02")),
      ProcessAllAvailable(),
      Execute { query =>
        assert(query.lastProgress.stateOperators.isEmpty)
        assert(SeenRows.byId === Map(
          1 -> Seq(at("10:01"), at("10:03"), at("10:05")),
          2 -> Seq(at("10:02"), at("10:09"))))
      },
      AddData(stream, 1 -> at("9:00")),
      ProcessAllAvailable(),
      Execute(_ => assert(SeenRows.byId(1).last === at("9:00"))))
  }

  test("rows of the same time are emitted as thenBy says") {
    val stream = MemoryStream[(Int, Timestamp, Int)](3)
    val df = stream.toDF().toDF("id", "t", "n").withWatermark("t", "0 seconds")
    val ordered = inOrder(df, "t", OrderOptions(by = Seq($"id" % 2), thenBy = Seq(-$"n")))
    assert(ordered.columns === Array("id", "t", "n"))
    testStream(seen(ordered.select($"n", $"t")))(
      AddData(stream, (1, at("10:00"), 1), (1, at("10:00"), 3), (1, at("9:59"), 0), (3, at("10:00"), 2)),
      ProcessAllAvailable(),
      Execute(_ => assert(SeenRows.all.map(_._1) === Seq(0, 3, 2, 1))))
  }

  test("a function with an event-time timeout reads its groups by time behind a shuffle") {
    val random = new Random(5)
    val stream = MemoryStream[(Int, Timestamp)](3)
    val df = stream.toDF().toDF("id", "t").withWatermark("t", "20 minutes")
    val numbered =
      inOrder(df, "t", OrderOptions(by = Seq(unix_seconds($"t") % 3))).as[(Int, Timestamp)].groupByKey(_._1)
        .flatMapGroupsWithState[Int, (Int, Timestamp)](OutputMode.Append, GroupStateTimeout.EventTimeTimeout()) {
          case (_, rows, _) => rows.map { row => SeenRows.add(row); row }
        }
    SeenRows.clear()
    val rows = Seq.fill(120)(random.nextInt(4) -> new Timestamp(millis("10:00") + random.nextInt(1200) * 1000L))
    testStream(numbered.toDF())(
      AddData(stream, rows: _*),
      ProcessAllAvailable(),
      AddData(stream, 9 -> at("23:00")),
      ProcessAllAvailable())
    assert(SeenRows.all.size === 120)
    assert(SeenRows.byId.values.forall(isSorted))
  }

  test("dropDuplicates keeps the first row by event time, whatever it is ordered by") {
    val stream = MemoryStream[(Int, Timestamp)](3)
    val df = stream.toDF().toDF("id", "t").withWatermark("t", "0 seconds")
    testStream(inOrder(df, "t", OrderOptions(by = Seq(minute($"t")))).dropDuplicates("id"))(
      AddData(stream, 1 -> at("10:05"), 2 -> at("10:09"), 1 -> at("10:01"), 2 -> at("10:02"), 1 -> at("10:03")),
      ProcessAllAvailable(),
      CheckNewAnswer(1 -> at("10:01"), 2 -> at("10:02")))
  }

  test("a batch DataFrame is sorted") {
    val rows =
      Seq(1 -> at("10:05"), 1 -> at("10:01"), 2 -> at("10:09"), 1 -> at("10:03")).toDF("id", "t").repartition(3)
    assert(inOrder(rows, "t").as[(Int, Timestamp)].collect().map(_._2.getTime).toSeq ===
      Seq("10:01", "10:03", "10:05", "10:09").map(millis))
    val grouped = inOrder(rows, "t", byId).as[(Int, Timestamp)].collect().toSeq
    assert(grouped.groupMap(_._1)(_._2).values.forall(isSorted))
  }

  test("the number of rows in state is that of the held rows") {
    val (stream, df) = timed("t", "10 minutes")
    testStream(inOrder(df, "t", byId))(
      AddData(stream, (0 until 50).map(n => n -> at("10:00")) :+ (1 -> at("10:30")): _*),
      ProcessAllAvailable(),
      Execute { query =>
        val batches = query.recentProgress.flatMap(_.stateOperators)
        assert(batches.map(_.operatorName).distinct === Array("inOrder"))
        assert(batches.map(_.numRowsTotal) === Array(51, 1))
        assert(batches.head.customMetrics.get(HoldExec.HeldBytes) > 51 * 24)
      })
  }
}
