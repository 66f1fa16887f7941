package io.tidemark.oracle

import Oracle._
import Query.{Groups, Ordered, Windows}

/** Says what a query has to give out, trigger by trigger: rows, columns, watermarks, late rows and eviction as they are
  * defined, without Spark and without the engine.
  */
final class Oracle(query: Query) {
  private val nodes = new Nodes(query)

  /** One trigger: `None` where it runs no batch. */
  def trigger(before: Memory, now: Long, rows: Map[Int, Seq[Row]]): (Memory, Option[Batch]) = {
    val hasData = rows.values.exists(_.nonEmpty)
    if (hasData || goesOn(before, now)) {
      val (after, batch) = run(before, now, rows)
      (after, Some(batch))
    } else (if (before.canGoOn) before.lookedAt(now) else before, None)
  }

  /** What comes of a step, which may have a batch at its restart. */
  def step(moment: Moment, step: Step): (Moment, Option[Batch]) = {
    val now = moment.millis + step.seconds * 1000L
    val rows = step.rows.view.mapValues(_.map { case (id, t) => Row(id, Vector(Some(t * 1000000L)), 1) }).toMap
    val (begun, first) = if (step.restart) restart(moment.memory, moment.millis) else (moment.memory, None)
    val (after, batch) = trigger(begun, now, rows)
    (Moment(after, now), (first ++ batch).reduceOption(_ and _))
  }

  /** A query begins again, and its first trigger has no rows. The time in which it did not run is not silence. As in stock
    * Spark, a query with plain watermarks alone runs no batch before there is a row.
    */
  def restart(before: Memory, now: Long): (Memory, Option[Batch]) =
    trigger(before.listeningFrom(now).copy(canGoOn = before.canGoOn && query.goesBeyondSpark), now, Map.empty)

  /** Whether a batch without data, or one after it, would let an operator go on; by the clock alone, only where something may
    * be due.
    */
  private def goesOn(memory: Memory, now: Long): Boolean = memory.canGoOn && {
    def marks(byTheClock: Boolean) = new Marks(nodes, memory, now, Set.empty, byTheClock)
    val (all, standing) = (marks(byTheClock = true), marks(byTheClock = false))
    goesOn(memory, now, if (maybeDue(memory, standing, all)) all else standing, maybeDue(memory, standing, all))
  }

  private def goesOn(memory: Memory, now: Long, marks: Marks, byTheClock: Boolean): Boolean =
    marks.progress != memory.progress || {
      val next = run(memory, now, Map.empty, byTheClock)._1
      next.timeless != memory.timeless &&
      goesOn(next, now, new Marks(nodes, next, now, Set.empty, byTheClock), byTheClock)
    }

  private def maybeDue(memory: Memory, standing: Marks, now: Marks): Boolean = now.progress.exists { case (node, sum) =>
    def places = Seq(MarkId(node, 0), MarkId(node, 1))
    standing.progress(node) != sum &&
    (nodes(node) match {
      case _: Groups => true
      case _ if places.forall(memory.kept.getOrElse(_, Vector.empty).isEmpty) => false
      case _: Ordered =>
        memory.kept(MarkId(node, 0)).exists(_.time <= now.closed(MarkId(node, 0)).spark * 1000L)
      case windows: Windows =>
        def last(marks: Marks) = Math.floorDiv(marks.closed(MarkId(node, 0)).spark, windows.length * 1000L)
        last(standing) < last(now)
      case _ => true
    })
  }

  private def run(
      before: Memory,
      now: Long,
      rows: Map[Int, Seq[Row]],
      byTheClock: Boolean = true): (Memory, Batch) = {
    val marks = new Marks(nodes, before, now, rows.filter(_._2.nonEmpty).keySet, byTheClock)
    val work = new Work(nodes, before, marks, rows)
    val out = work.rowsOf(query)
    (work.after(now), Batch(out.map(_.toString).sorted, work.late))
  }
}

object Oracle {

  /** @param rows what comes out, as texts in order; @param late how many rows were late at all operators together */
  final case class Batch(rows: Seq[String], late: Int) {
    def and(later: Batch): Batch = Batch((rows ++ later.rows).sorted, late + later.late)
  }

  /** A case from beginning to end: what comes of each step, which may have a batch at its restart. */
  def run(example: Case): Seq[Option[Batch]] = {
    val oracle = new Oracle(example.query)
    example.steps.foldLeft((Moment.begin, Vector.empty[Option[Batch]])) { case ((moment, all), step) =>
      val (after, batch) = oracle.step(moment, step)
      (after, all :+ batch)
    }._2
  }

  /** A query between two triggers.
    * @param millis what its clock says (ms)
    */
  final case class Moment(memory: Memory, millis: Long)
  object Moment {
    val begin: Moment = Moment(Memory(), RandomCase.Begin * 1000L)
  }
}
