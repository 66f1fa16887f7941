package org.apache.spark.sql.tidemark.status

import java.util.Properties

import scala.jdk.CollectionConverters._

import io.tidemark.{Idle, SplitBy, WatermarkOptions}
import io.tidemark.core.{OperatorId, OriginName}
import io.tidemark.core.plan.PlanShape
import io.tidemark.functions.withWatermark

import com.codahale.metrics.MetricRegistry

import org.apache.spark.SparkEnv
import org.apache.spark.metrics.sink.PrometheusServlet
import org.apache.spark.metrics.source.Source
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution
import org.apache.spark.sql.functions.expr
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.tidemark.support.{ManualClockTest, RefusalsTest}

/** The metrics of a running query that Spark's sinks show. */
class GaugesSuite extends RefusalsTest with ManualClockTest {
  import testImplicits._

  private def sources(query: StreamExecution): Seq[Source] =
    SparkEnv.get.metricsSystem.getSourcesByName(s"tidemark.${query.id}")

  private def value(query: StreamExecution, gauge: String): Double =
    number(sources(query).headOption.getOrElse(fail("the query has no gauges")).metricRegistry, gauge)

  private def gauge(name: String)(check: Double => Boolean): StreamAction = Execute { query =>
    val found = value(query, name)
    assert(check(found), s"$name is $found")
  }

  private def isAbout(expected: Double)(found: Double): Boolean = math.abs(found - expected) < 600

  test("gauges show how far each watermark is, what is late and who holds, and end with the query") {
    withSQLConf(SQLConf.STREAMING_METRICS_ENABLED.key -> "true") {
      val (stream, df) = bare("time")
      val options = WatermarkOptions(key = Some("or ders/1"), splitBy = SplitBy($"id"))
      val marked = withWatermark(df, "time", "10 minutes", options)
      var seen = Option.empty[StreamExecution]
      testStream(counted(marked, "time"))(
        StartStream(),
        AddData(stream, (1, at("12:00")), (2, at("10:05"))),
        ProcessAllAvailable(),
        Execute(query => seen = Some(query)),
        gauge("or_ders_1-watermark-lag-seconds")(isAbout((System.currentTimeMillis() - millis("9:55")) / 1000.0)),
        gauge("or_ders_1-behind-seconds")(_ == 125 * 60.0),
        gauge("or_ders_1-worst-split-behind-seconds")(_ == 115 * 60.0),
        gauge("or_ders_1-splits-active")(_ == 2.0),
        gauge("or_ders_1-splits-idle")(_ == 0.0),
        gauge("or_ders_1-idle")(_ == 0.0),
        gauge("or_ders_1-holds")(_ == 1.0),
        // Split 2 has rows, so results come as it catches up.
        gauge("trouble")(_ == 0.0),
        AddData(stream, (1, at("12:00"))),
        ProcessAllAvailable(),
        gauge("trouble")(_ == 1.0),
        gauge("late-rows-total")(_ == 0.0),
        gauge("or_ders_1-late-rows-total")(_ == 0.0),
        gauge("op-0-eviction-lag-seconds")(isAbout((System.currentTimeMillis() - millis("9:55")) / 1000.0)),
        AddData(stream, (1, at("9:00")), (2, at("12:01"))),
        ProcessAllAvailable(),
        gauge("late-rows-total")(_ == 1.0),
        gauge("or_ders_1-late-rows-total")(_ == 1.0),
        // The window of the late row ended at 9:10.
        gauge("or_ders_1-most-late-seconds")(found => math.abs(found - 45 * 60) < 1),
        gauge("op-0-late-rows-total")(_ == 1.0),
        gauge("trouble")(_ == 0.0),
        Execute { query =>
          // What Prometheus scrapes.
          val servlet = new PrometheusServlet(new Properties, sources(query).head.metricRegistry)
          assert(
            servlet.getMetricsSnapshot(null).contains("metrics_or_ders_1_watermark_lag_seconds_Value{type=\"gauges\"}"))
        },
        StopStream)
      eventually(timeout(streamingTimeout)) {
        assert(sources(seen.get).isEmpty)
      }
    }
  }

  test("a lag grows while no batch ends, and what is not known is not a number") {
    var now = 0L
    val (stream, df) = timed("time", "0 seconds")
    testStream(counted(df, "time"))(
      StartStream(),
      AddData(stream, (1, at("12:00"))),
      ProcessAllAvailable(),
      Execute { query =>
        val watermarks = watermarksOf(query)
        val gauges = new Gauges("a.b c", watermarks.origins.names, watermarks.latest, () => now)
        assert(gauges.sourceName === "tidemark.a_b_c")
        def lag = number(gauges.metricRegistry, "time-watermark-lag-seconds")
        now = millis("12:00")
        assert(lag === 0.0)
        now = millis("12:30")
        assert(lag === 1800.0)
      })
    val unknown = new Gauges("q", Seq(OriginName("time", 0)), None, () => now)
    val names = unknown.metricRegistry.getGauges.keySet.asScala
    assert(names.size === 13)
    assert(names.forall(number(unknown.metricRegistry, _).isNaN))
  }

  test("each side of a join has gauges from its first batch on, also beside a key of such a name") {
    withSQLConf(SQLConf.STREAMING_METRICS_ENABLED.key -> "true") {
      val (orders, allOrders) = bare("at")
      val (payments, allPayments) = bare("paid")
      val paid = withWatermark(allPayments.withColumnRenamed("id", "order"), "paid", "0 seconds")
      val joined = withWatermark(allOrders, "at", "0 seconds", WatermarkOptions(key = Some("op-0-left")))
        .join(paid, expr("id = order AND paid >= at AND paid <= at + INTERVAL 15 MINUTES"))
      testStream(joined)(
        StartStream(),
        AddData(orders, (1, at("12:00"))),
        ProcessAllAvailable(),
        AddData(payments, (1, at("12:05"))),
        ProcessAllAvailable(),
        // Orders stay until payments are 15 minutes past them.
        gauge("op-0-left-eviction-lag-seconds")(isAbout((System.currentTimeMillis() - millis("11:50")) / 1000.0)),
        gauge("op-0-left-late-rows-total")(_ == 0.0),
        AddData(orders, (1, at("11:00"))),
        ProcessAllAvailable(),
        gauge("op-0-left-late-rows-total")(_ == 1.0),
        gauge("op-0-right-late-rows-total")(_ == 0.0),
        gauge("op-0-left_2-late-rows-total")(_ == 1.0),
        gauge("op-0-left_2-most-late-seconds")(_ == 3600.0),
        gauge("paid-late-rows-total")(_ == 0.0))
    }
  }

  test("late rows of a union are counted at the operator, and of none of its inputs") {
    val (orders, allOrders) = bare("time")
    val (_, allPayments) = bare("time")
    val both = withWatermark(allOrders, "time", "0 seconds", WatermarkOptions(key = Some("orders")))
      .union(withWatermark(allPayments, "time", "0 seconds", WatermarkOptions(key = Some("payments"))))
    testStream(counted(both, "time"))(
      StartStream(),
      AddData(orders, (1, at("12:00"))),
      ProcessAllAvailable(),
      Execute { query =>
        val watermarks = watermarksOf(query)
        val gauges = new Gauges("q", watermarks.origins.names, watermarks.latest, () => 0L)
        gauges.planned(watermarks.latest.get.snapshot.plan.shape)
        assert(number(gauges.metricRegistry, "orders-late-rows-total").isNaN)
        assert(number(gauges.metricRegistry, "op-0-late-rows-total") === 0.0)
      })
  }

  test("a split that catches up is counted apart from those that are active") {
    val (stream, df) = bare("time")
    val options =
      WatermarkOptions(splitBy = SplitBy($"id"), idle = Idle(after = Some("10 seconds"), onReturn = Some("catch_up")))
    def batch(rows: (Int, java.sql.Timestamp)*) = Seq(AddData(stream, rows: _*), AdvanceManualClock(1000))
    val actions = batch((1, at("10:00")), (2, at("10:05"))) ++
      (11 to 22).flatMap(minute => batch((1, at(s"10:$minute")))) ++ batch((1, at("10:35"))) ++ batch((2, at("10:06")))
    run(counted(withWatermark(df, "time", "0 seconds", options), "time"))(actions :+ Execute { query =>
      val watermarks = watermarksOf(query)
      val gauges = new Gauges("q", watermarks.origins.names, watermarks.latest, () => 0L)
      def count(kind: String) = number(gauges.metricRegistry, s"time-splits-$kind")
      assert((count("active"), count("catching-up"), count("idle")) === ((1.0, 1.0, 0.0)))
    }: _*)
  }

  test("keys that differ in what a metric's name cannot have get names of their own") {
    val keys = Seq("a b", "a/b", "<script>", "x" * 10000).map(OriginName(_, 0))
    val names = new Gauges("q", keys, None, () => 0L).metricRegistry.getGauges.keySet.asScala
    val holds = names.filter(_.endsWith("-holds"))
    assert(holds.toSet === Set("a_b-holds", "a_b_2-holds", "_script_-holds", "x" * 100 + "-holds"))
  }

  test("the first 50 inputs have gauges, and the first 50 inputs of operators") {
    val keys = (1 to 60).map(n => OriginName(s"input-$n", 0))
    val gauges = new Gauges("q", keys, None, () => 0L)
    def names(ending: String) = gauges.metricRegistry.getGauges.keySet.asScala.filter(_.endsWith(ending)).toSet
    def chain(operators: Int) = (0 until operators).foldLeft[PlanShape](PlanShape.Source("files")) { (below, id) =>
      PlanShape.Stateful("aggregation", OperatorId(id.toLong), below, None, Nil, Nil)
    }
    gauges.planned(chain(30))
    gauges.planned(chain(60))
    assert(names("-holds") === (1 to 50).map(n => s"input-$n-holds").toSet)
    assert(names("-late-rows-total") ===
      ((1 to 50).map(n => s"input-$n") ++ (0 until 50).map(n => s"op-$n")).map(_ + "-late-rows-total").toSet)
    // No gauge can be added, so nothing is registered again.
    val full = gauges.metricRegistry
    gauges.planned(chain(70))
    assert(gauges.metricRegistry eq full)
  }

  test("a query that ends leaves the gauges of queries whose names begin alike, and of another of its name") {
    def gauges(name: String) = new Gauges(name, Seq(OriginName("time", 0)), None, () => 0L)
    def shown = SparkEnv.get.metricsSystem
    val (hourly, namesake, eu) = (gauges("hourly"), gauges("hourly"), gauges("hourly_eu"))
    val (endHourly, endNamesake, endEu) = (Gauges.register(hourly), Gauges.register(namesake), Gauges.register(eu))
    assert(namesake.sourceName === "tidemark.hourly_2")
    endHourly()
    assert(shown.getSourcesByName("tidemark.hourly").isEmpty)
    assert(shown.getSourcesByName("tidemark.hourly_2") === Seq(namesake))
    assert(shown.getSourcesByName("tidemark.hourly_eu") === Seq(eu))
    endNamesake()
    endEu()
    assert(shown.getSourcesByName("tidemark.hourly_2") ++ shown.getSourcesByName("tidemark.hourly_eu") === Nil)
  }

  test("without Spark's own switch there are no gauges") {
    val (stream, df) = timed("time", "0 seconds")
    testStream(counted(df, "time"))(
      StartStream(),
      AddData(stream, (1, at("12:00"))),
      ProcessAllAvailable(),
      Execute(query => assert(sources(query).isEmpty)))
  }

  private def number(registry: MetricRegistry, name: String): Double =
    registry.getGauges.get(name).getValue.asInstanceOf[Double]
}
