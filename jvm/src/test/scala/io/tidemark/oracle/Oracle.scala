package io.tidemark.oracle

import Oracle._

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
    } else (before, None)
  }

  /** A query that has just begun again runs no batch before there is a row. */
  def restarted(memory: Memory): Memory = memory.copy(canGoOn = false)

  /** Whether a batch without data, or one after it, would let an operator go on. */
  private def goesOn(memory: Memory, now: Long): Boolean = memory.canGoOn && {
    val marks = new Marks(nodes, memory, now, Set.empty)
    marks.progress != memory.progress || {
      val next = run(memory, now, Map.empty)._1
      next.timeless != memory.timeless && goesOn(next, now)
    }
  }

  private def run(memory: Memory, now: Long, rows: Map[Int, Seq[Row]]): (Memory, Batch) = {
    val before = if (memory.canGoOn) memory else memory.listeningFrom(now)
    val marks = new Marks(nodes, before, now, rows.filter(_._2.nonEmpty).keySet)
    val work = new Work(nodes, before, marks, rows)
    val out = work.rowsOf(query)
    (work.after(now), Batch(out.map(_.toString).sorted, work.late))
  }
}

object Oracle {

  /** @param rows what comes out, as texts in order; @param late how many rows were late at all operators together */
  final case class Batch(rows: Seq[String], late: Int)

  /** A case from beginning to end: what comes of each step. */
  def run(one: Case): Seq[Option[Batch]] = {
    val oracle = new Oracle(one.query)
    one.steps.foldLeft((Memory(), RandomCase.Begin * 1000L, Vector.empty[Option[Batch]])) {
      case ((memory, time, all), step) =>
        val now = time + step.seconds * 1000L
        val rows = step.rows.view.mapValues(_.map { case (id, t) => Row(id, Vector(Some(t * 1000000L)), 1) }).toMap
        val (after, batch) = oracle.trigger(if (step.restart) oracle.restarted(memory) else memory, now, rows)
        (after, now, all :+ batch)
    }._3
  }
}
