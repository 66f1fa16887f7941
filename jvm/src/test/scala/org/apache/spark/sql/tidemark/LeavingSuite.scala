package org.apache.spark.sql.tidemark

import java.nio.file.Files

import io.tidemark.core.format.SectionFormat

import org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming.StreamingQueryException

/** A query may come to Tidemark with a checkpoint of Spark's, leave it again, and come back. */
class LeavingSuite extends TwoStreams {

  private def sparkWatermark(recorder: Recorder): String = recorder.batches.last.eventTime("watermark")

  test("what Spark has begun goes on from Spark's watermark, and no row is lost that Spark would have kept") {
    withTempDir { checkpoint =>
      val inputs = new Inputs
      val recorder = new Recorder("append", checkpoint)
      def query = unionOfCounts(inputs.a, inputs.b)
      stock(recorder.run(query)(inputs.step(1 -> "10:00", 1 -> "12:00")(1 -> "10:05")))
      assert(sparkWatermark(recorder) === "2024-03-01T10:05:00.000Z")
      assert(rows(recorder.batches) === Nil)
      // Spark has not kept that `ta` was at 12:00 before: 10:35 is on time.
      assert(newRows(recorder)(recorder.run(query)(inputs.step(1 -> "10:35")(1 -> "10:20"))) ===
        Seq("[ta,10:00,1]", "[tb,10:00,1]"))
      assert(watermarks(recorder) === Map("ta" -> Some(millis("10:35")), "tb" -> Some(millis("10:20"))))
      assert(newRows(recorder)(recorder.run(query)(inputs.step(1 -> "12:20")(1 -> "12:20"))) ===
        Seq("[ta,10:30,1]", "[ta,12:00,1]", "[tb,10:20,1]"))
    }
  }

  test("what Spark has begun, and nothing has come since on one input: its watermark is Spark's") {
    withTempDir { checkpoint =>
      val inputs = new Inputs
      val recorder = new Recorder("append", checkpoint)
      def query = unionOfCounts(inputs.a, inputs.b)
      stock(recorder.run(query)(inputs.step(1 -> "10:30")(1 -> "10:05")))
      recorder.run(query)(inputs.step(1 -> "10:45", 2 -> "10:04")())
      assert(watermarks(recorder) === Map("ta" -> Some(millis("10:45")), "tb" -> Some(millis("10:05"))))
      // 10:04 is on time in a window that ends at 10:10.
      assert(rows(recorder.batches) === Seq("[ta,10:00,1]", "[ta,10:30,1]"))
    }
  }

  test("Spark goes on from the least of the watermarks") {
    withTempDir { checkpoint =>
      val inputs = new Inputs
      val recorder = new Recorder("append", checkpoint)
      def query = unionOfCounts(inputs.a, inputs.b)
      recorder.run(query)(inputs.step(1 -> "12:00")(1 -> "10:31"))
      assert(watermarks(recorder) === Map("ta" -> Some(millis("12:00")), "tb" -> Some(millis("10:31"))))
      assert(sparkWatermark(recorder) === "2024-03-01T10:31:00.000Z")
      // 10:20 is late by Spark's 10:31, 11:00 is not.
      val out = newRows(recorder)(
        stock(recorder.run(query)(inputs.step(2 -> "11:00", 3 -> "10:20", 4 -> "12:05")(2 -> "12:20"))))
      assert(out === Seq("[ta,11:00,1]", "[tb,10:30,1]"))
      assert(sparkWatermark(recorder) === "2024-03-01T12:05:00.000Z")
      assert(late(recorder) === 1)
    }
  }

  private val leavings = Seq[(String, Recorder => Unit)](
    "after a batch" -> (_ => ()),
    "in the middle of an entry" -> (recorder => cutEntry(recorder.checkpoint, recorder.batches.last.id)),
    "between an entry and Spark's" -> (recorder => forget(recorder.checkpoint, "commits", recorder.batches.last.id)))

  for ((when, leave) <- leavings)
    test(
      s"who leaves $when and comes back goes on from what its origins had reached, or from Spark's watermark if later") {
      withTempDir { checkpoint =>
        val inputs = new Inputs
        val recorder = new Recorder("append", checkpoint)
        def query = unionOfCounts(inputs.a, inputs.b)
        recorder.run(query)(inputs.step(1 -> "12:00")(1 -> "10:31"))
        leave(recorder)
        stock(recorder.run(query)(inputs.step(1 -> "12:30")(1 -> "10:51")))
        assert(sparkWatermark(recorder) === "2024-03-01T10:51:00.000Z")
        recorder.run(query)(inputs.step()(1 -> "10:55"))
        assert(watermarks(recorder) === Map("ta" -> Some(millis("12:00")), "tb" -> Some(millis("10:55"))))
        recorder.run(query)(inputs.step(1 -> "12:50")(1 -> "12:50"))
        assert(rows(recorder.batches) ===
          Seq("[ta,12:00,1]", "[ta,12:30,1]", "[tb,10:30,1]", "[tb,10:50,2]"))
      }
    }

  test("entries of a checkpoint that was set back, and that Spark alone has gone on with, are passed over") {
    withTempDir { checkpoint =>
      val inputs = new Inputs
      val recorder = new Recorder("append", checkpoint)
      def query = unionOfCounts(inputs.a, inputs.b)
      withSQLConf(SQLConf.STREAMING_NO_DATA_MICRO_BATCHES_ENABLED.key -> "false") {
        recorder.run(query)(inputs.step(1 -> "10:00")(1 -> "10:00"), inputs.step(1 -> "12:00")(1 -> "10:31"))
        for (log <- Seq("offsets", "commits")) forget(checkpoint, log, recorder.batches.last.id)
        stock(recorder.run(query)())
        assert(batchesIn(checkpoint, "commits") === batchesIn(checkpoint, "tidemark"))
        recorder.run(query)(inputs.step()(1 -> "10:55"))
        // In the life that is gone `ta` was at 12:00.
        assert(watermarks(recorder) === Map("ta" -> Some(millis("10:31")), "tb" -> Some(millis("10:55"))))
      }
    }
  }

  test("an entry of another query is passed over: it has begun its batch at another time") {
    withTempDir { other =>
      val inputs = new Inputs
      val recorder = new Recorder("append", other)
      recorder.run(unionOfCounts(inputs.a, inputs.b))(inputs.step(1 -> "13:00")(1 -> "13:00"))
      withTempDir { checkpoint =>
        val inputs = new Inputs
        val recorder = new Recorder("append", checkpoint)
        def query = unionOfCounts(inputs.a, inputs.b)
        recorder.run(query)(inputs.step(1 -> "12:00")(1 -> "10:31"))
        val last = recorder.batches.last.id
        write(entryFile(checkpoint, last), Files.readAllBytes(entryFile(other, last).toPath))
        recorder.run(query)(inputs.step()(1 -> "10:55"))
        assert(watermarks(recorder) === Map("ta" -> Some(millis("12:00")), "tb" -> Some(millis("10:55"))))
        assert(late(recorder) === 0)
      }
    }
  }

  test("an entry of a newer format is refused, also where Spark has run batches since") {
    withTempDir { checkpoint =>
      val inputs = new Inputs
      val recorder = new Recorder("append", checkpoint)
      def query = unionOfCounts(inputs.a, inputs.b)
      recorder.run(query)(inputs.step(1 -> "12:00")(1 -> "10:31"))
      val newest = entryFile(checkpoint, recorder.batches.last.id)
      val bytes = Files.readAllBytes(newest.toPath)
      write(newest, bytes.updated("TIDEMARK".length, (SectionFormat.Version + 1).toByte))
      stock(recorder.run(query)(inputs.step(1 -> "12:30")(1 -> "10:51")))
      val failed = intercept[StreamingQueryException](recorder.run(query)(inputs.step()(1 -> "10:55")))
      assert(failed.getMessage.contains("CHECKPOINT_ENTRY_NEWER") && failed.getMessage.contains(newest.getName))
    }
  }

  test("an entry that is missing is made up for by the one before and Spark's watermark") {
    withTempDir { checkpoint =>
      val inputs = new Inputs
      val recorder = new Recorder("append", checkpoint)
      def query = outerJoinAndCounts(inputs.a, inputs.b)
      recorder.run(query)(inputs.step(1 -> "10:00", 2 -> "10:40")(1 -> "10:05"))
      forget(checkpoint, "tidemark", recorder.batches.last.id)
      recorder.run(query)(inputs.step(3 -> "11:30")(3 -> "11:45"))
      recorder.run(query)(inputs.step(4 -> "13:00")(4 -> "13:00"))
      assert(rows(recorder.batches) === Seq("[ta,10:00,1]", "[ta,10:40,1]", "[ta,11:30,1]"))
    }
  }

  // Left rows stay in state until `tb` is 15 minutes further, right ones until `ta` is: in Spark, until the slower is.
  for ((when, leave) <- leavings) test(
    s"a join that has left $when and come back gives out every row once") {
    val formats = Map(
      SQLConf.STATE_STORE_PROVIDER_CLASS.key -> classOf[RocksDBStateStoreProvider].getName,
      SQLConf.STREAMING_JOIN_STATE_FORMAT_VERSION.key -> "4")
    withSQLConf(formats.toSeq: _*) {
      withTempDir { checkpoint =>
        val inputs = new Inputs
        val recorder = new Recorder("append", checkpoint)
        def query = inputs.a
          .join(
            inputs.b,
            expr("a = b AND tb >= ta - INTERVAL 15 MINUTES AND tb <= ta + INTERVAL 15 MINUTES"),
            "full_outer")
          .select(concat_ws(
            " ",
            col("a"),
            date_format(col("ta"), "HH:mm"),
            lit("|"),
            col("b"),
            date_format(col("tb"), "HH:mm")))
        recorder.run(query)(inputs.step(1 -> "10:00", 2 -> "12:00")(1 -> "10:10", 3 -> "10:20"))
        leave(recorder)
        stock(recorder.run(query)(inputs.step(4 -> "12:10")(5 -> "10:40")))
        recorder.run(query)(inputs.step()(6 -> "10:50"))
        recorder.run(query)(inputs.step(7 -> "13:00")(7 -> "13:00"))
        recorder.run(query)(inputs.step(8 -> "14:00")(8 -> "14:00"))
        assert(rows(recorder.batches) === Seq(
          "[1 10:00 | 1 10:10]",
          "[2 12:00 |]",
          "[4 12:10 |]",
          "[7 13:00 | 7 13:00]",
          "[8 14:00 | 8 14:00]",
          "[| 3 10:20]",
          "[| 5 10:40]",
          "[| 6 10:50]").sorted)
      }
    }
  }
}
