package org.apache.spark.sql.tidemark.query

import java.nio.file.Files

import io.tidemark.core.format.SectionFormat

import org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.tidemark.support.TwoStreams

/** A query may begin on stock Spark, continue with Tidemark, leave Tidemark again, and return. */
class LeavingSuite extends TwoStreams {

  private def sparkWatermark(recorder: Recorder): String = recorder.batches.last.eventTime("watermark")

  test("a query that stock Spark began resumes from Spark's watermark, and loses no row that Spark would have kept") {
    withTempDir { checkpoint =>
      val inputs = new Inputs
      val recorder = new Recorder("append", checkpoint)
      def query = unionOfCounts(inputs.a, inputs.b)
      stock(recorder.run(query)(inputs.step(1 -> "10:00", 1 -> "12:00")(1 -> "10:05")))
      assert(sparkWatermark(recorder) === "2024-03-01T10:05:00.000Z")
      assert(rows(recorder.batches) === Nil)
      // Spark's checkpoint does not record that `ta` was at 12:00 before, so 10:35 is on time.
      assert(newRows(recorder)(recorder.run(query)(inputs.step(1 -> "10:35")(1 -> "10:20"))) ===
        Seq("[ta,10:00,1]", "[tb,10:00,1]"))
      assert(watermarks(recorder) === Map("ta" -> Some(millis("10:35")), "tb" -> Some(millis("10:20"))))
      assert(newRows(recorder)(recorder.run(query)(inputs.step(1 -> "12:20")(1 -> "12:20"))) ===
        Seq("[ta,10:30,1]", "[ta,12:00,1]", "[tb,10:20,1]"))
    }
  }

  test("stock Spark resumes from the minimum of Tidemark's watermarks") {
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
    "while an entry is written" -> (recorder => cutEntry(recorder.checkpoint, recorder.batches.last.id)),
    "before the commit of a batch" -> (recorder => forget(recorder.checkpoint, "commits", recorder.batches.last.id)))

  for ((when, leave) <- leavings)
    moreTestsIf(when != "after a batch") {
      test(
        s"a query that leaves Tidemark $when and returns resumes from its own watermarks, or from Spark's if later") {
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
    }

  moreTests {
    test("an input without new rows has Spark's watermark in a query that stock Spark began") {
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

    test("checkpoint entries are ignored if their checkpoint was set back and then continued by stock Spark alone") {
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
          // `ta` was at 12:00 only before the checkpoint was set back.
          assert(watermarks(recorder) === Map("ta" -> Some(millis("10:31")), "tb" -> Some(millis("10:55"))))
        }
      }
    }

    test("a checkpoint entry of another query is ignored, because its batch began at another time") {
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

    test("a checkpoint entry of a newer format is refused even if stock Spark has run batches since") {
      withTempDir { checkpoint =>
        val inputs = new Inputs
        val recorder = new Recorder("append", checkpoint)
        def query = unionOfCounts(inputs.a, inputs.b)
        recorder.run(query)(inputs.step(1 -> "12:00")(1 -> "10:31"))
        val newest = entryFile(checkpoint, recorder.batches.last.id)
        val bytes = Files.readAllBytes(newest.toPath)
        write(newest, bytes.updated("TIDEMARK".length, (SectionFormat.Version + 1).toByte))
        stock(recorder.run(query)(inputs.step(1 -> "12:30")(1 -> "10:51")))
        val refused = refusalOf(recorder.run(query)(inputs.step()(1 -> "10:55")))
        assertRefusal(refused, "CHECKPOINT_ENTRY_NEWER", "version" -> s"${SectionFormat.Version + 1}")
        assert(pathOf(refused.error.parameters("file")) === newest.getCanonicalPath)
      }
    }

    test("a query with a missing checkpoint entry resumes from the entry before and Spark's watermark") {
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

    // Left rows stay in state until `tb` is 15 minutes ahead, and right rows until `ta` is. In stock Spark
    // both must be.
    for ((when, leave) <- leavings)
      test(s"a join query that leaves Tidemark $when and returns emits every row once") {
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
}
