package org.apache.spark.sql.tidemark.report

import java.io.File
import java.sql.Timestamp

import io.tidemark.{SplitBy, WatermarkOptions}
import io.tidemark.functions.withWatermark

import org.apache.spark.sql.Row
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.support.CorrectedQuery

/** A stopped query whose clocks are taken back, after a row of the far future. */
class CorrectionSuite extends CorrectedQuery {
  import testImplicits._

  private def forgetSplit(checkpoint: File, key: String, split: String): Row =
    spark.sql(s"SELECT * FROM tidemark_forget('${checkpoint.getCanonicalPath}', '$key', '$split')").collect().head

  test("after a correction, rows of today are on time and windows are emitted") {
    withTempDir { checkpoint =>
      val orders = new Orders
      val recorder = broken(checkpoint, orders)
      assert(rows(recorder.batches) === Seq("[10:00,1]"))
      assert(late(recorder) === 1)
      val last = recorder.batches.last.id
      val row = correct(checkpoint, s"'orders', NULL, ${to("10:30")}")
      assert(row.getLong(0) === last && row.getString(1) === "orders")
      assert((2 to 3).map(row.getString) === Seq("2099-12-31 23:50:00", "2024-03-01 10:30:00"))
      val kept = new File(row.getString(4))
      assert(kept.getParentFile === new File(checkpoint, "tidemark").getCanonicalFile &&
        kept.getName === last.toString)
      val lateBefore = late(recorder)
      val fixed = newRows(recorder)(
        recorder.run(windows(orders.marked(limit)))(
          orders.step("10:35"),
          orders.step("a" -> year2100, "a" -> at("10:55"))))
      assert(fixed === Seq("[10:30,1]"))
      assert(late(recorder) === lateBefore)
      // Spark's own log has it as well.
      assert(recorder.batches.last.eventTime("watermark") === "2024-03-01T10:45:00.000Z")
    }
  }

  test("tidemark_log shows which entry was corrected, and the old entry can be put back") {
    withTempDir { checkpoint =>
      val recorder = broken(checkpoint, new Orders)
      val last = recorder.batches.last.id
      def log = spark.sql(s"SELECT * FROM tidemark_log('${checkpoint.getCanonicalPath}')").orderBy("batch").collect()
      val before = log
      assert(before.forall(!_.getAs[Boolean]("corrected")))
      val row = correct(checkpoint, s"'orders', NULL, ${to("10:30")}")
      assert(log.filter(_.getAs[Boolean]("corrected")).map(_.getAs[Long]("batch")) === Array(last))
      assert(log.last.getAs[Timestamp]("watermark") === at("10:30"))
      assert(row.getString(4).endsWith(s"tidemark/$last"))
      // A second correction counts in the place of the first one.
      assert(correct(
        checkpoint,
        s"'orders', NULL, ${to("10:20")}").getString(4).endsWith(s"tidemark/$last.corrected-1"))
      assert(log.last.getAs[Timestamp]("watermark") === at("10:20"))
      forget(checkpoint, "tidemark", s"$last.corrected-2")
      assert(log.last.getAs[Timestamp]("watermark") === at("10:30"))
      forget(checkpoint, "tidemark", s"$last.corrected-1")
      assert(log === before)
    }
  }

  test("a correction without a time goes back to the wall clock, and a second one changes nothing") {
    withTempDir { checkpoint =>
      val recorder = broken(checkpoint, new Orders)
      val before = System.currentTimeMillis()
      val row = correct(checkpoint, "'orders'")
      val reached = entry(checkpoint, recorder.batches.last.id).origins.values.head.watermark.millis.get
      assert(reached >= before - 600000 && reached <= System.currentTimeMillis() - 600000)
      val second = correct(checkpoint, "'orders'")
      assert(second.isNullAt(4))
      assert((2 to 3).map(second.getString).distinct === Seq(row.getString(3)))
    }
  }

  test("explaining a correction changes nothing") {
    withTempDir { checkpoint =>
      val recorder = broken(checkpoint, new Orders)
      val before = entry(checkpoint, recorder.batches.last.id)
      val frame = spark.sql(s"SELECT * FROM tidemark_correct('${checkpoint.getCanonicalPath}', 'orders')")
      frame.queryExecution.explainString(org.apache.spark.sql.execution.ExtendedMode)
      assert(entry(checkpoint, recorder.batches.last.id) === before)
    }
  }

  test("a watermark that is new after a correction does not begin at the old one of Spark's log") {
    withTempDir { checkpoint =>
      val orders = new Orders
      val recorder = broken(checkpoint, orders)
      correct(checkpoint, s"'orders', NULL, ${to("10:30")}")
      // Runs of one batch with the old key: Spark's offsets of these batches still have the old watermark.
      for (_ <- 1 to 3) recorder.run(windows(orders.marked(limit)))(orders.step("10:33"))
      val renamed = withWatermark(orders.rows, "time", "10 minutes", WatermarkOptions(key = Some("renamed")))
      assert(newRows(recorder)(recorder.run(windows(renamed))(orders.step("10:35"), orders.step("10:55"))) ===
        Seq("[10:30,4]"))
    }
  }

  test("the clock of one split goes back alone, and a split that is forgotten no longer holds the watermark") {
    withTempDir { checkpoint =>
      val orders = new Orders(WatermarkOptions(key = Some("orders"), splitBy = SplitBy($"device")))
      val recorder = new Recorder("append", checkpoint)
      recorder.run(windows(orders.marked()))(
        orders.step("dead" -> at("10:01"), "far" -> year2100, "a" -> at("10:15")))
      val clock = correct(checkpoint, s"'orders', 'far', ${to("10:05")}")
      assert((2 to 3).map(clock.getString).distinct === Seq("2024-03-01 09:51:00"))
      assert(clock.getAs[String]("follows").endsWith(" so no window comes again."))
      val row = forgetSplit(checkpoint, "orders", "dead")
      assert((2 to 3).map(row.getString) === Seq("2024-03-01 09:51:00", "2024-03-01 10:05:00"))
      assert(newRows(recorder)(recorder.run(windows(orders.marked(limit)))(
        orders.step("far" -> at("10:45"), "a" -> at("10:46")))) === Seq("[10:00,1]", "[10:10,1]"))
      val states = entry(checkpoint, recorder.batches.last.id).origins.values.head.splits
      assert((0 until states.size).map(states.name(_).head.get).toSet === Set("a", "far"))
    }
  }

  test("a union that advanced with an input goes back with it") {
    withTempDir { checkpoint =>
      val (a, b) = (new Orders(), new Orders(WatermarkOptions(key = Some("payments"))))
      def both(limit: Option[String]) = windows(a.marked(limit).union(b.marked()))
      val recorder = new Recorder("append", checkpoint)
      recorder.run(both(None))(a.step("a" -> year2100), b.step("12:10"))
      assert(watermarks(recorder)("payments") === Some(millis("12:00")))
      correct(checkpoint, s"'orders', NULL, ${to("10:30")}")
      val lateBefore = late(recorder)
      assert(newRows(recorder)(recorder.run(both(limit))(a.step("10:35"), a.step("10:55"))) === Seq("[10:30,1]"))
      assert(late(recorder) === lateBefore)
    }
  }

  test("a carried column advances again after a correction") {
    withTempDir { checkpoint =>
      val stream = MemoryStream[(Timestamp, Timestamp)]
      def query(limit: Option[String]) = {
        val marked =
          withWatermark(stream.toDF().toDF("ta", "tb"), "ta", "0 seconds", WatermarkOptions(maxAhead = limit))
        val both = withWatermark(marked, "tb", "0 seconds", WatermarkOptions(maxAhead = limit))
        both
          .groupBy(window($"ta", "10 minutes").as("wa"), $"tb")
          .count()
          .groupBy(window($"tb", "10 minutes").as("wb"))
          .agg(sum("count"))
          .select(date_format($"wb.start", "HH:mm"), $"sum(count)")
      }
      def step(times: (Timestamp, Timestamp)*): Step = () => { stream.addData(times: _*); () }
      def same(clock: String): Step = step(at(clock) -> at(clock))
      val recorder = new Recorder("append", checkpoint)
      recorder.run(query(None))(same("10:01"), step(year2100 -> at("10:05")), same("10:06"))
      correct(checkpoint, s"'ta', NULL, ${to("10:10")}")
      assert(newRows(recorder)(recorder.run(query(limit))(same("10:25"), same("10:45"), same("11:15"))) ===
        Seq("[10:00,1]", "[10:20,1]", "[10:40,1]"))
    }
  }
}
