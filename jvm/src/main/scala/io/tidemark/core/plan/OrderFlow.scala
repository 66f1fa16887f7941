package io.tidemark.core.plan

import io.tidemark.core.ColumnId

/** Follows the order of rows through a plan, from the sources up. It says that rows are in order only if they are in every
  * run of the plan.
  */
object OrderFlow {
  import Order._
  import OrderStep._

  /** The order of a node's output.
    * @param below the orders of its inputs
    */
  def after(step: OrderStep, below: Seq[Order]): Order = step match {
    case Source(label, id, lane, mixed, cut) =>
      Arrival(Set(id), Agreement(lane, Lost(label, mixed)), Nil, cut.map(Lost(label, _)))
    case order: InOrder =>
      val flaw = Option.when(order.isOverBatches && order.passesLate)(Lost(order.label, "late rows are passed on"))
      Time(order.terms.map(_.name), order.terms, Some(order.by), order.isOverBatches, flaw)
    case Breaks(label, why) => Lost(label, why)
    case union: Union => ofUnion(union, below)
    case _ =>
      below.head match {
        case lost: Lost => lost
        case time: Time => ofTime(step, time)
        case arrival: Arrival => ofArrival(step, arrival)
      }
  }

  /** What an operator gets whose result depends on the order of each group's rows.
    *
    * @param sortBy what its input must be sorted by within each group to get the order; empty if it has the order already
    */
  final case class Found(order: Order, sortBy: Seq[OrderTerm])

  /** @param keys rows that agree on these columns are a group; without any, all rows are one */
  def at(keys: Set[ColumnId], in: Order): Found = in match {
    case time: Time if time.groups.exists(_.subsetOf(keys)) => Found(time, Nil)
    case time: Time =>
      reSorted(time, Lost("sort", "rows cannot be sorted again")) match {
        case again: Time => Found(again.copy(groups = Some(keys)), again.terms)
        case other => Found(other, Nil)
      }
    case arrival: Arrival =>
      val several = Option.unless(arrival.lane.isOf(keys))(arrival.lane.otherwise)
      val tooFar = arrival.spreads.find(!_.isOf(keys)).map(_.otherwise)
      Found(tooFar.getOrElse(arrival.copy(flaw = arrival.flaw.orElse(several))), Nil)
    case lost: Lost => Found(lost, Nil)
  }

  private def spread(columns: Set[ColumnId], at: String) =
    Agreement(Some(columns), Lost(at, "rows of a group went through several tasks"))

  private def ofTime(step: OrderStep, time: Time): Order = step match {
    case Keeps(label, columns) =>
      val terms = time.terms.map(_.renamed(columns)).takeWhile(_.nonEmpty).flatten
      val missing = time.terms.drop(terms.size).headOption.map(term =>
        Lost(label, s"'${term.name}' is not passed on, so rows cannot be sorted again"))
      time.copy(
        terms = terms,
        groups = time.groups.filter(_.forall(columns.contains)).map(_.map(columns)),
        gone = missing.orElse(time.gone))
    case Sort(label, by, _) =>
      val (first, last) = by.splitAt(by.size - time.terms.size)
      val isAgain = last.size == time.terms.size && last.zip(time.terms).forall { case (a, b) => a.isSame(b) }
      reSorted(time, Lost(label, "it sorts by something else")) match {
        case time: Time if isAgain => time.copy(groups = Some(first.flatMap(_.columns).toSet))
        case other => other
      }
    case other => reSorted(time, Lost(other.label, "rows of several tasks come together"))
  }

  /** A batch's rows are no longer in order. What is left of the order is what they can be sorted by. */
  private def reSorted(time: Time, at: Lost): Order =
    if (time.terms.isEmpty) time.gone.getOrElse(at)
    else time.copy(names = time.names.take(time.terms.size), groups = None)

  private def ofArrival(step: OrderStep, arrival: Arrival): Order = step match {
    case Keeps(_, columns) =>
      arrival.copy(lane = arrival.lane.renamed(columns), spreads = arrival.spreads.map(_.renamed(columns)))
    case Shuffle(label, Some(by)) => arrival.copy(spreads = arrival.spreads :+ spread(by, label))
    case Shuffle(label, None) => Lost(label, "it emits rows in any order")
    case Coalesce(_) => arrival
    case Sort(label, by, true) =>
      arrival.copy(spreads = arrival.spreads :+ spread(by.flatMap(_.columns).toSet, label))
    case other => Lost(other.label, "Spark's sort may exchange rows of a group")
  }

  private def ofUnion(union: Union, below: Seq[Order]): Order = {
    val each = below.zip(union.columns).map { case (order, columns) => after(Keeps(union.label, columns), Seq(order)) }
    each.collectFirst { case lost: Lost => lost }.getOrElse {
      val times = each.collect { case time: Time => time }
      val arrivals = each.collect { case arrival: Arrival => arrival }
      if (times.size == each.size) ofTimes(union, times)
      else if (arrivals.size == each.size) ofArrivals(union, arrivals)
      else Lost(union.label, "only some of its inputs were put into order")
    }
  }

  /** In a batch the rows can be sorted again. But each input has a watermark of its own, and a row of a later batch may be
    * earlier than a row of another input was.
    */
  private def ofTimes(union: Union, all: Seq[Time]): Order = {
    val terms = all.map(_.terms).reduce((a, b) => a.zip(b).takeWhile { case (x, y) => x.isSame(y) }.map(_._1))
    val own = Option.when(all.exists(_.isOverBatches))(Lost(union.label, "its inputs have watermarks of their own"))
    if (terms.isEmpty) Lost(union.label, "its inputs are in order by different columns")
    else
      Time(terms.map(_.name), terms, None, isOverBatches = false, all.flatMap(_.flaw).headOption.orElse(own))
  }

  private def ofArrivals(union: Union, all: Seq[Arrival]): Order = {
    val sources = all.flatMap(_.sources.toSeq)
    if (sources.distinct.size < sources.size) Lost(union.label, "two of its inputs read the same source")
    else {
      val lane = Agreement(None, Lost(union.label, "rows of its inputs have no order among each other"))
      Arrival(sources.toSet, lane, all.flatMap(_.spreads).distinct, all.flatMap(_.flaw).headOption)
    }
  }
}
