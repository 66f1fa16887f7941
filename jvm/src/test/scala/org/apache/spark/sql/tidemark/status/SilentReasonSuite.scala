package org.apache.spark.sql.tidemark.status

import java.sql.Timestamp

import io.tidemark.{Idle, SplitBy, TidemarkConf, WatermarkOptions}
import io.tidemark.core.memory.ReasonText
import io.tidemark.functions.withWatermark

import org.apache.spark.sql.functions.expr
import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.tidemark.support.{ReasonTest, SilenceTest}

/** Why nothing comes out of a running query while an input is idle. */
class SilentReasonSuite extends ReasonTest with SilenceTest {
  import testImplicits._

  /** Orders, payments, and the union of both, each of which may be idle. */
  private def united(delay: String) = {
    def input(key: String) = {
      val (stream, df) = readings
      stream -> withWatermark(df, "time", delay, tenSeconds.copy(key = Some(key)))
    }
    val ((orders, allOrders), (payments, allPayments)) = (input("orders"), input("payments"))
    (orders, payments, allOrders.union(allPayments))
  }

  test("an idle input that a join waits for is named, and the fix that it names helps") {
    def sees(atJoin: Option[String])(checks: StreamAction*): Unit = {
      val (orders, allOrders) = readings
      val (payments, allPayments) = readings
      val mayBeIdle = tenSeconds.copy(key = Some("payments"), idle = tenSeconds.idle.copy(atJoin = atJoin))
      val joined = withWatermark(allOrders.toDF("order", "ordered"), "ordered", "0 seconds", keyed("orders")).join(
        withWatermark(allPayments.toDF("of", "paid"), "paid", "0 seconds", mayBeIdle),
        expr("order = of AND paid BETWEEN ordered AND ordered + INTERVAL 5 MINUTES"),
        "left_outer")
      run(joined.select("order", "of"))(
        Seq(AddData(payments, "a" -> at("10:05"))) ++ more(orders, "a" -> "10:04", "b" -> "10:04") ++
          (11 to 14).flatMap(minute => Seq(AddData(orders, "c" -> at(s"10:$minute")), AdvanceManualClock(5000))) ++
          checks: _*)
    }
    sees(None)(
      why { why =>
        assert(why.get("code").asText === "JOIN_WAITS_FOR_IDLE")
        assert(why.get("held_by").asText === "payments")
        assert(why.get("sentence").asText ===
          "Rows without a match do not come out: \"payments\" is idle with its watermark at 2024-03-01T10:05:00Z, and join (left outer) #0 waits for it, " +
          "because rows that it may still bring could match.")
        assert(why.get("fix").asText.contains("at_join=\"follow\""))
        assert(why.get("is_trouble").asBoolean)
      },
      kept { reason =>
        assert(reason.code === "JOIN_WAITS_FOR_IDLE")
        assert(reason.heldBy.contains("payments"))
        assert(reason.sentence.contains("\"payments\" is idle with its watermark at 2024-03-01T10:05:00Z"))
      },
      CheckNewAnswer(("a", "a")))
    sees(Some("follow"))(code("FLOWING"), CheckNewAnswer(("a", "a"), ("b", null)))
  }

  test("an input that is behind and has an idle time is said to be left out, and it is") {
    val (orders, payments, both) = united("0 seconds")
    run(counted(both))(
      more(payments, "b" -> "10:02") ++ more(orders, "a" -> "12:00") ++ Seq(why { why =>
        assert(why.get("code").asText === "HELD_BY_INPUT")
        assert(why.get("sentence").asText.contains(
          "1 hour 58 minutes ahead. \"payments\" is left out in a later batch if it stays silent."))
        assert(why.get("fix").isNull)
      }) ++ seconds(7) ++ more(orders, "a" -> "12:03") ++ Seq(CheckNewAnswer()) ++ seconds(2) ++ Seq(
        code("FLOWING"),
        CheckNewAnswer("10:00" -> 1L)): _*)
  }

  test("when all inputs are silent, the sentence says since when and where they stay, until a row arrives") {
    val (orders, payments, both) = united("5 minutes")
    run(counted(both))(
      more(orders, "a" -> "10:01") ++ more(payments, "b" -> "10:02") ++ Seq(code("FLOWING")) ++ seconds(15) ++ Seq(
        why { why =>
          assert(why.get("code").asText === "ALL_SILENT")
          assert(why.get("held_by").asText === "payments")
          assert(why.get("sentence").asText ===
            "All inputs of aggregation #0 are silent since 1970-01-01T00:00:02Z. Its watermark stays at " +
            "2024-03-01T09:57:00Z while nothing arrives. The first window in its state ends at 2024-03-01T10:10:00Z, and is " +
            "emitted once an event time of \"payments\" reaches 2024-03-01T10:15:00Z.")
          assert(why.get("fix").asText.startsWith(
            "setting idle=tidemark.Idle(after=\"10 seconds\", when_all=\"advance\") on \"payments\""))
          assert(!why.get("is_trouble").asBoolean)
        }) ++ more(orders, "a" -> "10:03") ++ Seq(code("FLOWING")): _*)
  }

  test("when all inputs are silent and their watermark follows the clock, there is nothing to fix") {
    val (stream, df) = readings
    // The watermark is that of the last batch, because nothing is due before 00:10.
    val advancing = tenSeconds.copy(idle = tenSeconds.idle.copy(whenAll = Some("advance")))
    run(counted(withWatermark(df, "time", "0 seconds", advancing)))(
      Seq(AddData(stream, "a" -> new Timestamp(1000)), second) ++ seconds(19) ++ Seq(why { why =>
        assert(why.get("code").asText === "ALL_SILENT")
        assert(why.get("held_by").asText === "time")
        assert(why.get("sentence").asText ===
          "All inputs of aggregation #0 are silent since 1970-01-01T00:00:01Z. The watermark is at 1970-01-01T00:00:01Z. " +
          "It follows the clock, less the delay, as soon as that lets something out.")
        assert(why.get("fix").isNull)
      }): _*)
  }

  test("in a run that reads what is available no time counts as silence, and the sentence says what to set") {
    def see(downtimeIsSilence: String)(check: ReasonText => Unit): Unit =
      withSQLConf(TidemarkConf.DowntimeIsSilence.key -> downtimeIsSilence)(withTempDir { checkpoint =>
        val (stream, df) = readings
        val marked =
          withWatermark(df, "time", "0 seconds", WatermarkOptions(splitBy = SplitBy($"device"), idle = Idle("1 hour")))
        val counts = counted(marked)
        val batches = for (rows <- Seq(Seq("a" -> "10:00", "b" -> "10:05"), Seq("a" -> "12:00"))) yield {
          stream.addData(rows.map { case (device, time) => device -> at(time) })
          val query = counts.writeStream.format("noop").option("checkpointLocation", checkpoint.getPath)
            .trigger(Trigger.AvailableNow()).start()
          query.awaitTermination()
          query.lastProgress.batchId
        }
        check(entry(checkpoint, batches.last).reason.get)
      })
    see("false") { why =>
      assert(why.sentence.contains("whose split \"b\" is at 2024-03-01T10:05:00Z, 1 hour 55 minutes behind"))
      assert(why.sentence.contains("Silence counts neither in this run, "))
      assert(why.fix.exists(_.startsWith("setting spark.tidemark.downtimeIsSilence to true")))
    }
    see("true")(why => assert(why.sentence.contains(" It is left out from ") && why.fix.isEmpty))
  }
}
