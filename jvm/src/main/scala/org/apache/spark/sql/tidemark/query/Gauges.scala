package org.apache.spark.sql.tidemark.query

import scala.collection.mutable

import io.tidemark.core.OriginName

import com.codahale.metrics.{Gauge, MetricRegistry}

import org.apache.spark.SparkEnv
import org.apache.spark.metrics.source.Source

/** The watermarks of a running query as metrics, for Spark's sinks: Prometheus, JMX, Graphite and others.
  *
  * A lag is measured when a sink asks, so it grows while a query hangs and no batch ends. What is not known is `NaN`, which
  * no alert takes for a number. Any thread may ask. `docs/guides/monitoring.md` lists the gauges.
  *
  * @param name the query's name or id
  * @param state what is known after the last batch
  * @param nowMillis the wall clock
  */
private[tidemark] final class Gauges(
    name: String,
    origins: Seq[OriginName],
    state: => Option[QueryView.Planned],
    nowMillis: () => Long)
    extends Source {
  import Gauges._

  override val sourceName: String = s"tidemark.${legible(name)}"
  override val metricRegistry: MetricRegistry = new MetricRegistry

  private val taken = mutable.HashSet.empty[String]

  origins.take(MostOrigins).foreach { origin =>
    val key = free(legible(origin.toString))
    def totals(now: QueryView.Planned) = now.totals.getOrElse(origin, QueryView.Totals.none)
    def watermark(now: QueryView.Planned) = now.snapshot.decision.origin(origin).millis
    add(s"$key-watermark-lag-seconds")(seconds(watermark(_).map(nowMillis() - _)))
    add(s"$key-behind-seconds")(seconds { now =>
      for (latest <- totals(now).maxEventTimeMillis; reached <- watermark(now)) yield latest - reached
    })
    add(s"$key-worst-split-behind-seconds")(seconds { now =>
      for (largest <- totals(now).largestClockMillis; reached <- watermark(now)) yield math.max(0L, largest - reached)
    })
    add(s"$key-splits-active")(state.map(totals(_).active.toDouble))
    add(s"$key-splits-idle")(state.map(totals(_).idle.toDouble))
    add(s"$key-far-ahead-rows-total")(state.map(totals(_).farAheadRows.toDouble))
    add(s"$key-holds")(state.map(now => if (now.reason.exists(_.heldBy.contains(origin))) 1.0 else 0.0))
  }
  add("late-rows-total")(state.map(_.lateRows.values.map(_.all.rows).sum.toDouble))
  add("trouble")(state.map(now => if (now.reason.exists(_.isTrouble)) 1.0 else 0.0))

  private def add(gauge: String)(value: => Option[Double]): Unit = {
    val _ =
      metricRegistry.register(gauge, new Gauge[Double] { override def getValue: Double = value.getOrElse(Double.NaN) })
  }

  private def seconds(millis: QueryView.Planned => Option[Long]): Option[Double] =
    state.flatMap(millis).map(_ / 1000.0)

  /** Two keys may differ only in what a metric's name cannot have. */
  private def free(key: String): String =
    Iterator(key).concat(Iterator.from(2).map(n => s"${key}_$n")).find(taken.add).get
}

private[tidemark] object Gauges {
  private val MostOrigins = 50

  /** Spark's own metrics of streams leave out dots as well: sinks take them for folders. */
  private def legible(name: String): String = name.take(100).replaceAll("[^A-Za-z0-9_-]", "_")

  /** Adds the gauges to those that Spark's sinks show; the result takes them away. */
  def register(gauges: Gauges): () => Unit = {
    val system = SparkEnv.get.metricsSystem
    system.registerSource(gauges)
    () => system.removeSource(gauges)
  }
}
