package org.apache.spark.sql.tidemark.status

import java.sql.Timestamp
import java.time.ZoneOffset

import io.tidemark.{OrderOptions, SplitBy, WatermarkOptions}
import io.tidemark.core.why.Words
import io.tidemark.functions.{inOrder, withWatermark}

import org.apache.logging.log4j.Level

import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions.when
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.tidemark.support.ReasonTest

/** Why nothing comes out of a running query: the sentence of the report, and that of each batch's progress. */
class ReasonSuite extends ReasonTest {
  import testImplicits._

  test("an input that has been silent from the start is named") {
    val (orders, allOrders) = bare("time")
    val (payments, allPayments) = bare("time")
    val both = withWatermark(allOrders, "time", "10 minutes", keyed("orders"))
      .union(withWatermark(allPayments, "time", "10 minutes", keyed("payments")))
    testStream(counted(both, "time"))(
      StartStream(),
      AddData(orders, (1, at("12:00"))),
      ProcessAllAvailable(),
      why { why =>
        assert(why.get("code").asText === "NO_EVENT_TIME")
        assert(why.get("held_by").asText === "payments")
        assert(why.get("sentence").asText ===
          "Nothing comes out: aggregation #0 waits for \"payments\", which has had no row with an event time yet.")
        assert(why.get("is_trouble").asBoolean)
      },
      AddData(payments, (1, at("09:50"))),
      ProcessAllAvailable(),
      // The window until 10:00 would be out if payments were as far as orders.
      AddData(orders, (2, at("12:01"))),
      ProcessAllAvailable(),
      why { why =>
        assert(why.get("code").asText === "HELD_BY_INPUT")
        val sentence = why.get("sentence").asText
        assert(sentence.contains("\"payments\", which is at 2024-03-01T09:40:00Z and last had rows at "))
        assert(sentence.endsWith(
          "\"orders\" is at 2024-03-01T11:51:00Z, 2 hours 11 minutes ahead. The first window in its " +
            "state ends at 2024-03-01T10:00:00Z, and is emitted once an event time of \"payments\" reaches " +
            "2024-03-01T10:10:00Z."))
      },
      progress { fields =>
        assert(fields.getAs[String]("why").startsWith("Nothing comes out: aggregation #0 waits for \"payments\""))
        assert(fields.getAs[String]("held_by") === "payments")
        assert(fields.getAs[Long]("watermark_ms_payments") === millis("09:40"))
        assert(fields.getAs[Long]("watermark_ms_orders") === millis("11:51"))
        assert(fields.getAs[Long]("behind_ms_orders") === 600000L)
        assert(!fields.getAs[Boolean]("idle_orders"))
        assert(fields.getAs[Long]("late_rows") === 0)
      })
  }

  test("trouble that lasts is one warning with what to do, and its end is one line") {
    val (orders, allOrders) = bare("time")
    val (payments, allPayments) = bare("time")
    val both = withWatermark(allOrders, "time", "0 seconds", keyed("orders"))
      .union(withWatermark(allPayments, "time", "0 seconds", keyed("payments")))
    def batch(stream: MemoryStream[(Int, Timestamp)], minute: Int): Seq[StreamAction] =
      Seq(AddData(stream, (1, at(s"12:$minute"))), ProcessAllAvailable())
    val log = new LogAppender("the reason why nothing comes out")
    withLogAppender(log, Seq(classOf[ReasonLog].getName), level = Some(Level.INFO)) {
      testStream(counted(both, "time"))(
        StartStream() +: ((10 to 30).flatMap(batch(orders, _)) ++ batch(payments, 30) ++ batch(orders, 31)): _*)
    }
    val lines = log.loggingEvents.map(event => event.getLevel -> event.getMessage.getFormattedMessage).toSeq
    assert(lines.map(_._1) === Seq(Level.WARN, Level.INFO), lines)
    assert(lines.head._2.contains("for 10 batches: Nothing comes out: aggregation #0 waits for \"payments\""))
    assert(lines.head._2.contains(" Fix this by checking that rows arrive there"))
    // The batch has ended that read the row, and the next one emits.
    assert(lines.last._2.contains("What is due at aggregation #0 up to 2024-03-01T12:30:00Z, "))
    assert(lines.last._2.endsWith(" is emitted by the next batch."))
  }

  test("the reason is not worked out while that has cost more than a hundredth of the run's time") {
    val (stream, df) = timed("time", "0 seconds")
    val second = 1000000000L
    // The begin of the run, and the begin of each question, followed by its end if it was answered.
    val times = Iterator[Long](0, 0, second, 2 * second, 49 * second, 51 * second, 51 * second)
    testStream(counted(df, "time"))(
      StartStream(),
      AddData(stream, (1, at("10:05"))),
      ProcessAllAvailable(),
      Execute { query =>
        val batch = watermarksOf(query).latest.get
        val reasons = new ReasonLog("q", new Words(ZoneOffset.UTC), () => times.next())
        assert((1 to 4).map(_ => reasons.after(batch).nonEmpty) === Seq(true, false, false, true))
        assert(times.isEmpty)
      })
  }

  test("rows that wait to come out in order are counted, and the sentence says until when") {
    val (stream, df) = bare("time")
    val ordered =
      inOrder(withWatermark(df, "time", "10 minutes", keyed("orders")), "time", OrderOptions(by = Seq($"id")))
    testStream(ordered)(
      StartStream(),
      AddData(stream, (1, at("12:00")), (2, at("12:05"))),
      ProcessAllAvailable(),
      why { why =>
        assert(why.get("code").asText === "FLOWING")
        assert(why.get("sentence").asText.endsWith(
          " It holds 2 rows: the first is emitted once an event time reaches 2024-03-01T12:10:00Z, and the last once one " +
            "reaches 2024-03-01T12:15:00Z."))
      })
  }

  test("an input that is split by the id of each row is named, in the sentence and once in the log") {
    val (stream, df) = bare("time")
    val clicks = withWatermark(df, "time", "10 minutes", WatermarkOptions(Some("clicks"), SplitBy($"id")))
    def batch(n: Int, firstId: Int): Seq[StreamAction] =
      Seq(AddData(stream, (0 until 30).map(i => (firstId + i, at(s"${10 + n}:${10 + i}"))): _*), ProcessAllAvailable())
    def hasWords(expected: Boolean) = why { why =>
      assert(why.get("code").asText === "HELD_BY_SPLIT")
      assert(
        why.get("sentence").asText.contains("Nearly all of its 180 splits have had rows in one batch only.") ===
          expected)
      assert(
        why.get("fix").asText.contains("splitting \"clicks\" by something that has rows again and again") === expected)
    }
    val log = new LogAppender("splits with rows in one batch only")
    withLogAppender(log, Seq(classOf[SplitNews].getName)) {
      testStream(counted(clicks, "time"))(
        Seq(StartStream()) ++
          // The first batch of a run has nothing before it.
          (0 to 4).flatMap(n => batch(n, 30 * n)) ++ Seq(hasWords(false)) ++
          batch(5, 150) ++ Seq(hasWords(true)) ++
          // These splits have rows again.
          batch(6, 150) ++ Seq(hasWords(false)): _*)
    }
    val lines = log.loggingEvents.map(_.getMessage.getFormattedMessage)
    assert(lines.count(_.contains("input \"clicks\": Nearly all of its 180 splits")) === 1)
  }

  test("a split that is behind is named") {
    val (stream, df) = bare("time")
    val split = withWatermark(df, "time", "0 seconds", WatermarkOptions(splitBy = SplitBy($"id")))
    testStream(counted(split, "time"))(
      StartStream(),
      AddData(stream, (1, at("10:05")), (2, at("10:01"))),
      ProcessAllAvailable(),
      code("FLOWING"),
      AddData(stream, (1, at("12:00"))),
      ProcessAllAvailable(),
      why { why =>
        assert(why.get("code").asText === "HELD_BY_SPLIT")
        assert(why.get("sentence").asText.contains(
          "whose split \"2\" is at 2024-03-01T10:01:00Z, 1 hour 59 minutes behind the furthest."))
        assert(why.get("fix").asText.startsWith("setting idle_after on \"time\""))
      },
      kept { reason =>
        assert(reason.code === "HELD_BY_SPLIT")
        assert(reason.heldBy.contains("time"))
        assert(reason.sentence.startsWith(
          "Nothing comes out: aggregation #0 waits for \"time\", whose split \"2\" is at 2024-03-01T10:01:00Z, "))
        assert(reason.fix.exists(_.startsWith("setting idle_after on \"time\"")))
        assert(reason.isTrouble)
      },
      // Its windows up to there are emitted, and those of the other split are not.
      AddData(stream, (2, at("10:25"))),
      ProcessAllAvailable(),
      why(why => assert(why.get("sentence").asText.startsWith("Nothing more comes out: aggregation #0 waits for "))))
  }

  test("a column whose text is not a timestamp is said to have no event time") {
    val (stream, df) = bare("time")
    val broken = df.select($"id", when($"id" > 9, $"time").as("time"))
    testStream(counted(withWatermark(broken, "time", "10 minutes", keyed("orders")), "time"))(
      StartStream(),
      AddData(stream, (1, at("10:05")), (2, at("10:06"))),
      ProcessAllAvailable(),
      code("NO_EVENT_TIME"),
      // Spark counts a null as a time of 1970, which no report may show.
      report { all =>
        val input = all.get("inputs").get(0)
        assert(input.get("watermark_ms").isNull && input.get("max_event_time_ms").isNull)
      },
      progress(fields => assert(fields.isNullAt(fields.fieldIndex("watermark_ms_orders")))),
      Execute { query =>
        val log = spark.sql(s"SELECT watermark, clock FROM tidemark_log('${query.resolvedCheckpointRoot}')").collect()
        assert(log.nonEmpty && log.forall(row => row.isNullAt(0) && row.isNullAt(1)))
      })
  }

  test("a complete window that only a row can emit is named if no-data batches are off") {
    withSQLConf(SQLConf.STREAMING_NO_DATA_MICRO_BATCHES_ENABLED.key -> "false") {
      val (stream, df) = timed("time", "0 seconds")
      testStream(counted(df, "time"))(
        StartStream(),
        AddData(stream, (1, at("10:05"))),
        ProcessAllAvailable(),
        why(found =>
          assert(found.get("sentence").asText.endsWith(
            "is emitted with the next rows once an event time reaches 2024-03-01T10:10:00Z."))),
        AddData(stream, (1, at("10:15"))),
        ProcessAllAvailable(),
        code("NO_DATA_BATCHES_OFF"))
    }
  }

  test("after a restart the sentence says that a row has to arrive first") {
    val (stream, df) = timed("time", "0 seconds")
    testStream(counted(df, "time"))(
      StartStream(),
      AddData(stream, (1, at("10:05"))),
      ProcessAllAvailable(),
      StopStream,
      StartStream(),
      why { why =>
        assert(why.get("code").asText === "NO_BATCH_YET")
        assert(why.get("sentence").asText ===
          "No batch has run since the restart. One runs when a row arrives, and not before.")
      })
  }

  test("a query left to Spark says why") {
    withSQLConf(SQLConf.STREAMING_MULTIPLE_WATERMARK_POLICY.key -> "max") {
      val (stream, df) = timed("time", "0 seconds")
      testStream(counted(df, "time"))(
        StartStream(),
        AddData(stream, (1, at("10:05"))),
        ProcessAllAvailable(),
        code("LEFT_TO_SPARK"))
    }
  }

  test("times are in the session's time zone") {
    withSQLConf(SQLConf.SESSION_LOCAL_TIMEZONE.key -> "America/New_York") {
      val (stream, df) = timed("time", "0 seconds")
      testStream(counted(df, "time"))(
        StartStream(),
        AddData(stream, (1, at("10:05"))),
        ProcessAllAvailable(),
        report { all =>
          assert(all.get("zone").asText === "America/New_York")
          assert(all.get("why").get("sentence").asText.contains("up to 2024-03-01T05:05:00-05:00"))
        })
    }
  }
}
