package io.tidemark.core.support

import scala.collection.immutable.TreeMap
import scala.collection.mutable

import io.tidemark.core.{ColumnId, Input, OriginName, Side}
import io.tidemark.core.memory.{CarriedMinima, Observation, WatermarkEntry}
import io.tidemark.core.plan.{Edge, PlanShape, PropagatedNode}
import io.tidemark.core.plan.PlanShape._

/** A row: the times of its event-time columns, and those of them that were on time where they began. */
private[core] final case class Row(times: Map[ColumnId, Long], onTime: Set[ColumnId]) {
  def rename(columns: Seq[(ColumnId, ColumnId)])(change: (ColumnId, ColumnId, Long) => Long): Row = Row(
    columns.flatMap { case (to, from) => times.get(from).map(time => to -> change(to, from, time)) }.toMap,
    columns.collect { case (to, from) if onTime(from) => to }.toSet)
  def and(that: Row): Row = Row(times ++ that.times, onTime ++ that.onTime)
  def only(columns: Seq[ColumnId]): Row =
    Row(times.filter(c => columns.contains(c._1)), onTime.filter(columns.contains))
}

/** Runs a plan row by row, as the operators do that are given the watermarks, and watches that no watermark overtakes a
  * row: on no edge may a time that was on time where it began be at or before the watermark of its column.
  *
  * @param width of the buckets in which carried values are noted
  */
private[core] final class RowModel(shape: PlanShape, delay: OriginName => Long, width: Long) {
  private var moment = Moment.first(shape)
  private var state = Map.empty[Input, Vector[Row]].withDefaultValue(Vector.empty)
  private var arrivals = Map.empty[OriginName, Seq[Long]]
  private val newest = mutable.Map.empty[OriginName, Long]
  private val noted = mutable.Map.empty[Input, CarriedMinima]

  /** What went wrong, in words. */
  val overtaken = mutable.ArrayBuffer.empty[String]

  /** How many times of rows were looked at behind an operator with a state; how many rows were dropped as late. */
  var judged = 0
  var late = 0

  def entry: WatermarkEntry = moment.entry

  def batch(rows: Map[OriginName, Seq[Long]]): Unit = {
    arrivals = rows
    newest.clear()
    noted.clear()
    visit(moment.late.root)
    val seen = newest.map { case (name, time) => name -> Observation.OriginObservation.whole(time, delay(name)) }
    moment = moment.next(Observation(seen.toMap, noted.toMap))
  }

  private def visit(flow: PropagatedNode): Vector[Row] = {
    val below = flow.inputs.map(visit)
    val out = flow.shape match {
      case _: Source => Vector.empty
      case origin: Origin => begin(origin, below.head, flow.out)
      case project: Stateless => below.flatten.toVector.map(_.rename(project.columns)(computed(project.label)))
      case union: Union =>
        below.zipWithIndex.flatMap { case (rows, input) =>
          val columns = union.columns.flatMap(c => c.inputs(input).map(c.out -> _))
          rows.map(_.rename(columns)((_, _, time) => time))
        }.toVector
      case operator: Stateful => work(operator, below.head)
      case join: Join => joined(join, below.head, below(1))
      case marked: Marked =>
        // One of the columns that come in goes out under another name, and only the plan that was drawn knows which.
        val from = ColumnId(marked.label.stripPrefix(RandomPlan.Map).toLong)
        below.head.map(_.rename(Seq(marked.columns.head -> from))((_, _, time) => time))
      case declared: Declared => below.head.map(_.rename(Seq(declared.column -> Inner))((_, _, time) => time))
    }
    val rows = out.distinct.take(RowModel.MostRows)
    rows.foreach(watch(flow, _))
    rows
  }

  private def watch(flow: PropagatedNode, row: Row): Unit =
    for (column <- row.onTime; held <- flow.out.columns.get(column)) {
      if (flow.shape.isInstanceOf[Stateful] || flow.shape.isInstanceOf[Join]) judged += 1
      if (row.times(column) <= held.watermark.sparkMillis)
        overtaken +=
          s"batch ${entry.batch + 1}, ${flow.shape.label}: $column is at ${held.watermark}, and out comes $row"
    }

  /** A row is on time by the watermark of the batch before; only now, and never again, is that asked of this column. */
  private def begin(origin: Origin, below: Vector[Row], out: Edge): Vector[Row] = {
    val here = if (origin.input.isInstanceOf[Source]) arrivals.getOrElse(origin.name, Nil) else Nil
    val rows = below ++ here.map(time => Row(Map(origin.column -> time), Set.empty))
    val watermark = out.column(origin.column).watermark.sparkMillis
    rows.map { row =>
      row.times.get(origin.column).fold(row) { time =>
        newest.update(origin.name, math.max(time, newest.getOrElse(origin.name, time)))
        val others = row.onTime - origin.column
        row.copy(onTime = if (time > watermark) others + origin.column else others)
      }
    }
  }

  private def computed(label: String)(to: ColumnId, from: ColumnId, time: Long): Long =
    if (label == RandomPlan.Window && to != from) (Math.floorDiv(time, 10L) + 1) * 10 else time

  /** Drops rows that are late by their active column; a row without it is never late. */
  private def notLate(input: Input, active: Option[ColumnId], rows: Vector[Row]): Vector[Row] = {
    val watermark = moment.late.inputs.get(input).fold(0L)(_.input.watermark.sparkMillis)
    val (dropped, rest) = rows.partition(row => active.flatMap(row.times.get).exists(_ <= watermark))
    late += dropped.size
    dropped.filter(row => active.exists(row.onTime)).foreach { row =>
      overtaken += s"batch ${entry.batch + 1}, $input: dropped as late by $watermark: $row"
    }
    rest
  }

  /** Takes rows into a state; gives the rows that it held or took in, and those that it evicts. */
  private def keep(
      input: Input,
      active: ColumnId,
      carried: Seq[ColumnId],
      rows: Vector[Row]): (Vector[Row], Vector[Row]) = {
    val in = rows.filter(_.times.contains(active))
    if (carried.nonEmpty) {
      val ledgers = in.map { row =>
        CarriedMinima(
          width,
          TreeMap(CarriedMinima.bucketEnd(row.times(active), width) -> carried.map(row.times.get).toVector))
      }
      noted.update(input, ledgers.foldLeft(CarriedMinima(width, TreeMap.empty))(_ add _))
    }
    val all = state(input) ++ in
    val evicted = moment.now.inputs(input).evicted.map(_.watermark.sparkMillis)
    val (gone, stay) = all.partition(row => evicted.exists(row.times(active) <= _))
    state = state.updated(input, stay)
    (all, gone)
  }

  private def work(operator: Stateful, below: Vector[Row]): Vector[Row] = {
    val input = Input(operator.id, Side.Left)
    val rows = notLate(input, operator.active, below)
    (operator.label, operator.active) match {
      case (RandomPlan.Aggregation, Some(active)) =>
        keep(input, active, operator.carried, rows)._2.map(_.only(operator.passes ++ operator.carried))
      case (RandomPlan.Groups, Some(active)) => rows.map(_.rename(Seq(Inner -> active))((_, _, time) => time))
      case _ => rows.map(_.only(operator.passes))
    }
  }

  // What an operator knows of a column that Spark is told of in the node above it only.
  private val Inner = ColumnId(-1)

  /** All pairs that match, and all rows of both sides when they are closed, as of a full outer join. */
  private def joined(join: Join, left: Vector[Row], right: Vector[Row]): Vector[Row] = {
    val (allLeft, newLeft, goneLeft) = taken(join, Side.Left, left)
    val (allRight, newRight, goneRight) = taken(join, Side.Right, right)
    val pairs = for {
      l <- allLeft
      r <- allRight if (newLeft.contains(l) || newRight.contains(r)) && matches(join, l, r)
    } yield leaving(join, Side.Left, l).and(leaving(join, Side.Right, r))
    pairs ++ goneLeft.map(leaving(join, Side.Left, _)) ++ goneRight.map(leaving(join, Side.Right, _))
  }

  private def taken(join: Join, side: Side, rows: Vector[Row]): (Vector[Row], Vector[Row], Vector[Row]) = {
    val input = Input(join.id, side)
    val at = join.side(side)
    val in = notLate(input, at.active, rows)
    at.active.fold((in, in, Vector.empty[Row])) { active =>
      val (all, gone) = keep(input, active, at.carried, in)
      (all, in, gone)
    }
  }

  /** What a bound says: a pair whose time on one side is past it does not match. */
  private def matches(join: Join, l: Row, r: Row): Boolean = {
    def allows(own: Row, side: JoinSide): Boolean = (for {
      time <- side.active.flatMap(own.times.get)
      bound <- side.bound
      other <- (if (bound.of == Side.Left) l else r).times.get(bound.column)
    } yield other + bound.offsetMillis <= time).getOrElse(true)
    allows(l, join.left) && allows(r, join.right)
  }

  /** A side that is never closed promises nothing, unless it is held. */
  private def leaving(join: Join, side: Side, row: Row): Row = {
    val at = join.side(side)
    if (!at.comesOut) Row(Map.empty, Set.empty)
    else if (at.activeOut == ActiveOut.Unbounded) row.copy(onTime = Set.empty)
    else row
  }
}

private[core] object RowModel {

  /** More rows than these on an edge tell nothing new. */
  val MostRows = 40

  def run(shape: PlanShape, history: RandomHistory, width: Long): RowModel = {
    val model = new RowModel(shape, history.delay, width)
    history.batches.foreach(model.batch)
    model
  }
}
