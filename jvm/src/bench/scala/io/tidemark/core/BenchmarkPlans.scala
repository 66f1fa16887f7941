package io.tidemark.core

import scala.collection.immutable.TreeMap

import io.tidemark.core.memory.{CarriedMinima, Observation}
import io.tidemark.core.plan.PlanShape
import io.tidemark.core.plan.PlanShape._

/** Plans as the engine makes them of users' queries. */
private[core] object BenchmarkPlans {
  private val minute = 60 * 1000L

  private def origin(index: Int): Origin =
    Origin("withWatermark", OriginName(s"event_time_$index", 0), ColumnId(index.toLong), Source("files"))

  private def aggregation(operator: Int, input: PlanShape, active: ColumnId, carried: Seq[ColumnId]): Stateful =
    Stateful("aggregation", OperatorId(operator.toLong), input, Some(active), Seq(active), carried)

  /** So many inputs, each counted by itself, in one output. */
  def union(inputs: Int): PlanShape = {
    val counts = (0 until inputs).map { index =>
      val below = origin(index)
      aggregation(index, below, below.column, Nil)
    }
    Union("union", Some(0), counts, Seq(UnionColumn(counts.head.passes.head, 0, counts.map(c => Some(c.passes.head)))))
  }

  /** Four streams joined one after the other, then counted by the first one's time and by all others. */
  def joinChain: PlanShape = {
    val columns = (0 until 4).map(index => ColumnId(index.toLong))
    def side(input: PlanShape, active: ColumnId, of: Side, column: ColumnId, carried: Seq[ColumnId]) =
      JoinSide(input, Some(active), Some(Bound(of, column, -10 * minute)), ActiveOut.Bounded, carried, comesOut = true)
    val joined = (1 until 4).foldLeft(origin(0): PlanShape) { (left, index) =>
      Join(
        "join",
        OperatorId(index.toLong),
        side(left, columns(index - 1), Side.Right, columns(index), columns.take(index - 1)),
        side(origin(index), columns(index), Side.Left, columns(index - 1), Nil))
    }
    aggregation(0, joined, columns.head, columns.tail)
  }

  /** A minute of event time from every input, and what the operators that carry columns noted of it. */
  def seen(shape: PlanShape, batch: Int): Observation = {
    val nodes = postOrder(shape)
    val newest = nodes.collect { case o: Origin =>
      o.name -> Observation.OriginObservation.whole(1700000000000L + batch * minute, 10 * minute)
    }
    val carrying = nodes.collect {
      case o: Stateful if o.carried.nonEmpty => Input(o.id, Side.Left) -> o.carried.size
      case j: Join if j.left.carried.nonEmpty => Input(j.id, Side.Left) -> j.left.carried.size
    }
    Observation(newest.toMap, carrying.map { case (input, count) => input -> ledger(batch, count) }.toMap)
  }

  private def ledger(batch: Int, columns: Int): CarriedMinima = {
    val begin = 1700000000000L + batch * minute
    val buckets = (0 until 60).map(second => begin + second * 1000L -> Vector.fill(columns)(Option(begin - minute)))
    CarriedMinima(1000L, TreeMap.from(buckets))
  }
}
