package org.apache.spark.sql.tidemark.status

import scala.collection.mutable

import io.tidemark.core.{Input, OriginName}
import io.tidemark.core.plan.{PlanShape, Waits}
import io.tidemark.core.why.Verdict

import com.codahale.metrics.{Gauge, MetricRegistry}

import org.apache.spark.SparkEnv
import org.apache.spark.metrics.MetricsSystem
import org.apache.spark.metrics.source.Source
import org.apache.spark.sql.tidemark.exec.LateRows

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

  // The inputs of operators that have gauges, with whether a watermark evicts their state. Changed by the query's thread alone.
  private var operators = Vector.empty[(PlanShape, Input, Boolean)]
  @volatile private var registry = metrics
  override def metricRegistry: MetricRegistry = registry

  /** A batch is planned: its operators have gauges from now on, as those of the batches before. Called on the query's thread. */
  def planned(shape: PlanShape): Unit = {
    val known = operators.map(_._2).toSet
    if (operators.size < MostInputs && !Waits.inputs(shape).map(_._2).forall(known)) {
      val waits = Waits.of(shape)
      val more = Waits.inputs(shape).filterNot { case (_, input) => known(input) }.map { case (operator, input) =>
        (operator, input, waits.get(input).flatMap(_.evicted).exists(_.nonEmpty))
      }
      operators = (operators ++ more).take(MostInputs)
      Gauges.replace(this) { registry = metrics }
    }
  }

  /** Each registry is complete from its start: a registry that Spark was given twice would show a new gauge twice, and fail. */
  private def metrics: MetricRegistry = {
    val all = new Metrics
    origins.take(MostOrigins).foreach(all.addOrigin)
    all.add("late-rows-total")(state.map(_.lateRows.values.map(_.all.rows).sum.toDouble))
    all.add("trouble")(reason(_.isTrouble))
    operators.foreach { case (operator, input, isEvicted) => all.addOperator(operator, input, isEvicted) }
    all.registry
  }

  private final class Metrics {
    val registry = new MetricRegistry
    private val taken = mutable.HashSet.empty[String]

    def addOrigin(origin: OriginName): Unit = {
      val key = free(legible(origin.toString))
      def totals(now: QueryView.Planned) = now.totals.getOrElse(origin, QueryView.Totals.none)
      def watermark(now: QueryView.Planned) =
        now.snapshot.decision.origin(origin).millis.filter(_ => totals(now).hasTimes)
      add(s"$key-watermark-lag-seconds")(seconds(watermark(_).map(nowMillis() - _)))
      add(s"$key-behind-seconds")(seconds { now =>
        for (latest <- totals(now).maxEventTimeMillis; reached <- watermark(now)) yield latest - reached
      })
      add(s"$key-worst-split-behind-seconds")(seconds { now =>
        for (largest <- totals(now).largestClockMillis; reached <- watermark(now)) yield math.max(0L, largest - reached)
      })
      add(s"$key-splits-active")(state.map(totals(_).active.toDouble))
      add(s"$key-splits-catching-up")(state.map(totals(_).catchingUp.toDouble))
      add(s"$key-splits-idle")(state.map(totals(_).idle.toDouble))
      add(s"$key-idle")(state.map(now => if (now.snapshot.decision.origin(origin).isIdle) 1.0 else 0.0))
      add(s"$key-late-rows-total")(state.flatMap(late(_, origin)).map(_.rows.toDouble))
      add(s"$key-most-late-seconds")(seconds(late(_, origin).map(_.mostMillis)))
      add(s"$key-far-ahead-rows-total")(state.map(totals(_).farAheadRows.toDouble))
      add(s"$key-holds")(reason(_.heldBy.contains(origin)))
    }

    def addOperator(operator: PlanShape, input: Input, isEvicted: Boolean): Unit = {
      val side = operator match {
        case _: PlanShape.Join => s"-${input.side.name}"
        case _ => ""
      }
      val name = s"op-${input.operator.value}$side"
      add(s"$name-late-rows-total")(state.flatMap(_.lateRows.get(input)).map(_.all.rows.toDouble))
      if (isEvicted) add(s"$name-eviction-lag-seconds")(seconds { now =>
        now.snapshot.levels.inputs.get(input).flatMap(_.evicted).flatMap(_.watermark.millis).map(nowMillis() - _)
      })
    }

    def add(gauge: String)(value: => Option[Double]): Unit = {
      val _ =
        registry.register(gauge, new Gauge[Double] { override def getValue: Double = value.getOrElse(Double.NaN) })
    }

    /** Two keys may differ only in what a metric's name cannot have. An operator's name is not a key's. */
    private def free(key: String): String =
      Iterator(key).concat(Iterator.from(2).map(n => s"${key}_$n")).filterNot(OfOperator.matches).find(taken.add).get
  }

  private def reason(holds: Verdict => Boolean): Option[Double] =
    state.flatMap(_.reason).map(verdict => if (holds(verdict)) 1.0 else 0.0)

  private def seconds(millis: QueryView.Planned => Option[Long]): Option[Double] =
    state.flatMap(millis).map(_ / 1000.0)
}

private[tidemark] object Gauges {
  private val MostOrigins = 50
  private val MostInputs = 50
  private val OfOperator = "op-[0-9]+(-left|-right)?".r

  /** Spark's own metrics of streams leave out dots as well: sinks take them for folders. */
  private def legible(name: String): String = name.take(100).replaceAll("[^A-Za-z0-9_-]", "_")

  /** The rows that were late by the watermark of this input; `None` if some may have been late by that of another one. */
  private def late(now: QueryView.Planned, origin: OriginName): Option[LateRows] = {
    val judged = for {
      (operator, input) <- Waits.inputs(now.snapshot.plan.shape)
      rows <- now.lateRows.get(input).toSeq
      judges = PlanShape.judgedByAll(operator, input.side) if judges.contains(origin)
    } yield judges.size -> rows.all
    Option.when(judged.nonEmpty && judged.forall(_._1 == 1))(judged.map(_._2).foldLeft(LateRows.none)(_ + _))
  }

  // Those that Spark's sinks show, with the system that shows them.
  private val shown = mutable.LinkedHashMap.empty[Gauges, MetricsSystem]

  /** The sources that Spark's sinks show. */
  def names: Seq[String] = shown.synchronized(shown.keys.map(_.sourceName).toSeq)

  /** Adds the gauges to those that Spark's sinks show; the result takes them away. */
  def register(gauges: Gauges): () => Unit = shown.synchronized {
    val system = SparkEnv.get.metricsSystem
    while (shown.keys.exists(_.sourceName == gauges.sourceName)) gauges.number += 1
    shown += gauges -> system
    system.registerSource(gauges)
    () =>
      shown.synchronized {
        remove(gauges)
        shown -= gauges
      }
  }

  /** Shows gauges with another registry, unless their query has ended. */
  private def replace(gauges: Gauges)(change: => Unit): Unit = shown.synchronized {
    remove(gauges)
    change
    shown.get(gauges).foreach(_.registerSource(gauges))
  }

  private def remove(gauges: Gauges): Unit = shown.get(gauges).foreach { system =>
    system.removeSource(gauges)
    // Spark removes all whose names begin alike, which may be those of other queries.
    val others = shown.collect {
      case (other, of) if (other ne gauges) && (of eq system) && other.sourceName.startsWith(gauges.sourceName) => other
    }.toSeq
    others.foreach(system.removeSource)
    others.foreach(system.registerSource)
  }
}
