package org.apache.spark.sql.tidemark.status

import scala.collection.mutable

import io.tidemark.core.OriginName
import io.tidemark.core.why.Verdict

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

  // Queries of one name, and of names that differ only in what a metric's name cannot have, are told apart when they register.
  private var number = 1
  override def sourceName: String = s"tidemark.${legible(name)}${if (number > 1) s"_$number" else ""}"
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
    add(s"$key-holds")(reason(_.heldBy.contains(origin)))
  }
  add("late-rows-total")(state.map(_.lateRows.values.map(_.all.rows).sum.toDouble))
  add("trouble")(reason(_.isTrouble))

  private def reason(holds: Verdict => Boolean): Option[Double] =
    state.flatMap(_.reason).map(verdict => if (holds(verdict)) 1.0 else 0.0)

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

  // Those that Spark's sinks show.
  private val shown = mutable.LinkedHashSet.empty[Gauges]

  /** Adds the gauges to those that Spark's sinks show; the result takes them away. */
  def register(gauges: Gauges): () => Unit = shown.synchronized {
    val system = SparkEnv.get.metricsSystem
    while (shown.exists(_.sourceName == gauges.sourceName)) gauges.number += 1
    shown += gauges
    system.registerSource(gauges)
    () =>
      shown.synchronized {
        shown -= gauges
        system.removeSource(gauges)
        // Spark removes all whose names begin alike, which may be those of other queries.
        val others = shown.filter(_.sourceName.startsWith(gauges.sourceName)).toSeq
        others.foreach(system.removeSource)
        others.foreach(system.registerSource)
      }
  }
}
