package io.tidemark.oracle

import Query._
import Work.Observed

/** The rows of one batch, from the inputs on upwards. */
private[oracle] final class Work(nodes: Nodes, before: Memory, marks: Marks, arrived: Map[Int, Seq[Row]]) {
  var late = 0
  private var observed = Map.empty[Int, Observed]
  private var kept = before.kept
  private var matched = before.matched

  def rowsOf(node: Query): Seq[Row] = {
    val at = nodes.number(node)
    node match {
      case input: Input if input.leftover => arrived.getOrElse(input.number, Nil)
      case input: Input =>
        val rows = arrived.getOrElse(input.number, Nil)
        val clocks =
          rows.groupBy(row => if (input.splits.nonEmpty) row.id else 0).view.mapValues(_.flatMap(_.times.head))
        observe(at, clocks.toMap, input.delay, input.catchesUp)
        rows
      case Without(input, rest) => rowsOf(input).filterNot(_.id % 3 == rest)
      case Limited(input) => rowsOf(input)
      case Through(input, _) => rowsOf(input)
      case Again(input, column, delay) =>
        val rows = rowsOf(input)
        observe(at, Map(0 -> rows.flatMap(_.times(column))), delay, catchesUp = false)
        rows
      case Union(left, right) => rowsOf(left) ++ rowsOf(right)
      case Distinct(input, column) =>
        val rows = onTime(MarkId(at, 0), rowsOf(input).map(row => row -> row.times(column))).map(_._1).distinct
        val known = kept.getOrElse(MarkId(at, 0), Vector.empty).map(_.row)
        val fresh = rows.filterNot(known.contains)
        keep(MarkId(at, 0), fresh.map(row => new Kept(row, row.times(column).get)))
        val _ = leave(MarkId(at, 0))
        fresh
      case running: Running =>
        val rows = soFar(MarkId(at, 0), running, rowsOf(running.input))
        observe(at, Map(0 -> rows.flatMap(_.times.head)), running.delay, catchesUp = false)
        rows
      case once: Once => first(MarkId(at, 0), once, rowsOf(once.input))
      case groups: Groups => timed(MarkId(at, 0), groups, rowsOf(groups.input))
      case sessions: Sessions => lasting(MarkId(at, 0), sessions, rowsOf(sessions.input))
      case windows: Windows => counted(MarkId(at, 0), windows, rowsOf(windows.input))
      case Ordered(input, column, _, _) =>
        val (timed, timeless) = onTime(MarkId(at, 0), rowsOf(input).map(row => row -> row.times(column)))
          .partition(_._2.nonEmpty)
        keep(MarkId(at, 0), timed.map { case (row, time) => new Kept(row, time.get) })
        timeless.map(_._1) ++ leave(MarkId(at, 0)).map(_.row)
      case join: Join => joined(at, join, rowsOf(join.left), rowsOf(join.right))
      case self: SelfJoin =>
        val rows = rowsOf(self.input)
        joined(at, self.join, rows, rows)
    }
  }

  private def observe(origin: Int, times: Map[Int, Seq[Long]], delay: Int, catchesUp: Boolean): Unit =
    observed += origin -> Observed(
      times.collect { case (split, all) if all.nonEmpty => split -> (Math.floorDiv(all.max, 1000L) - delay * 1000L) },
      catchesUp)

  /** A row is late by the watermark that its operator had in the batch before. */
  private def onTime(place: MarkId, rows: Seq[(Row, Option[Long])]): Seq[(Row, Option[Long])] = {
    val mark = before.own.get(place).fold(0L)(_.spark) * 1000L
    val (tooLate, rest) = rows.partition(_._2.exists(_ <= mark))
    late += tooLate.size
    rest
  }

  private def keep(place: MarkId, rows: Seq[Kept]): Unit =
    kept += place -> (kept.getOrElse(place, Vector.empty) ++ rows)

  private def leave(place: MarkId): Seq[Kept] = {
    val closed = marks.closed(place).spark * 1000L
    val (gone, rest) = kept.getOrElse(place, Vector.empty).partition(_.time <= closed)
    kept += place -> rest
    gone
  }

  private def counted(place: MarkId, windows: Windows, rows: Seq[Row]): Seq[Row] = {
    val length = windows.length * 1000000L
    val ends = rows.flatMap { row =>
      row.times(windows.column).map(time => row -> Option((Math.floorDiv(time, length) + 1) * length))
    }
    val fresh = onTime(place, ends).map { case (row, end) =>
      new Kept(Row(row.id, end.map(_ - 1) +: windows.others.map(row.times), row.n), end.get)
    }
    keep(place, fresh)
    def key(row: Row) = (row.times, Option.when(windows.byId)(row.id))
    val (all, closed) = (kept(place).map(_.row), leave(place).map(_.row))
    val out = if (windows.updates) fresh.map(_.row) else closed
    out.map(key).distinct.map { of =>
      val rows = all.filter(key(_) == of)
      Row(rows.map(_.id).min, of._1, rows.map(_.n).sum)
    }
  }

  private def first(place: MarkId, once: Once, rows: Seq[Row]): Seq[Row] = {
    val known = kept.getOrElse(place, Vector.empty).map(_.row.id)
    val fresh = onTime(place, rows.map(row => row -> row.times(0)))
      .collect { case (row, Some(time)) if !known.contains(row.id) => row -> time }
      .distinctBy(_._1.id)
    keep(place, fresh.map { case (row, time) => new Kept(row, time + once.delay * 1000000L) })
    val _ = leave(place)
    fresh.map(_._1)
  }

  /** A row in state knows how many there are of its id, and stays forever. */
  private def soFar(place: MarkId, running: Running, rows: Seq[Row]): Seq[Row] = {
    val ids = rows.map(_.id).toSet
    val (changed, rest) = kept.getOrElse(place, Vector.empty).partition(k => ids(k.row.id))
    val counts = rows.groupBy(_.id).toSeq.map { case (id, now) =>
      Row(
        id,
        Vector(now.flatMap(_.times(running.column)).maxOption),
        (now ++ changed.map(_.row).filter(_.id == id)).map(_.n).sum)
    }
    kept += place -> (rest ++ counts.map(new Kept(_, Long.MaxValue)))
    counts
  }

  /** A row in state knows how many there are of its id, and the largest time (µs). */
  private def timed(place: MarkId, groups: Groups, rows: Seq[Row]): Seq[Row] = {
    val came = onTime(place, rows.map(row => row -> row.times(groups.column))).map { case (row, time) =>
      row.copy(times = Vector(time))
    }
    val ids = came.map(_.id).toSet
    val (changed, rest) = kept.getOrElse(place, Vector.empty).partition(k => ids(k.row.id))
    kept += place -> rest
    keep(
      place,
      ids.toSeq.map { id =>
        val all = (came ++ changed.map(_.row)).filter(_.id == id)
        val last = all.flatMap(_.times.head).max
        // It may not be set to where the watermark has been already.
        val timer = math.max(Math.floorDiv(last, 1000L) + groups.gap * 1000L, marks.closed(place).spark + 1)
        new Kept(Row(id, Vector(Some(last)), all.map(_.n).sum), (timer + 1) * 1000L)
      })
    leave(place).map(k => Row(k.row.id, Vector(Some(k.time - 1000L)), k.row.n))
  }

  /** Sessions that touch are one; a row in state knows when its session began, or a part of it, and when that ends. */
  private def lasting(place: MarkId, sessions: Sessions, rows: Seq[Row]): Seq[Row] = {
    val ends = rows.flatMap { row =>
      row.times(sessions.column).map(time => row -> Option(time + sessions.gapOf(row.id) * 1000000L))
    }
    keep(
      place,
      onTime(place, ends).map { case (row, end) =>
        new Kept(Row(row.id, Vector(row.times(sessions.column)), row.n), end.get)
      })
    val merged = kept(place).groupBy(_.row.id).values.flatMap { all =>
      all.sortBy(_.row.times.head).foldLeft(List.empty[Vector[Kept]]) {
        case (session :: ended, next) if next.row.times.head.get <= session.map(_.time).max =>
          (session :+ next) :: ended
        case (ended, next) => Vector(next) :: ended
      }
    }
    kept += place -> merged.toVector.flatMap(session => session.map(k => new Kept(k.row, session.map(_.time).max)))
    leave(place).groupBy(k => (k.row.id, k.time)).toSeq.map { case ((id, end), rows) =>
      Row(id, Vector(Some(end - 1)), rows.map(_.row.n).sum)
    }
  }

  private def joined(at: Int, join: Join, newLeft: Seq[Row], newRight: Seq[Row]): Seq[Row] = {
    val (left, right) = (MarkId(at, 0), MarkId(at, 1))
    def taken(place: MarkId, rows: Seq[Row], time: Int) =
      onTime(place, rows.map(row => row -> row.times(time))).collect { case (row, Some(t)) => new Kept(row, t) }
    val (inLeft, inRight) =
      (taken(left, newLeft, join.leftTime), taken(right, newRight, join.rightTime))
    val (oldLeft, oldRight) = (kept.getOrElse(left, Vector.empty), kept.getOrElse(right, Vector.empty))
    val pairs = (for (l <- oldLeft; r <- inRight) yield l -> r) ++
      (for (l <- inLeft; r <- oldRight ++ inRight) yield l -> r)
    val matching = pairs.filter { case (l, r) =>
      l.row.id == r.row.id && r.time >= l.time + join.least * 1000000L && r.time <= l.time + join.most * 1000000L
    }
    val out =
      if (join.kind == "left_semi") matching.map(_._1).distinct.filterNot(matched).map(_.row)
      else matching.map { case (l, r) => both(l.row, r.row) }
    matched ++= matching.flatMap { case (l, r) => Seq(l, r) }
    keep(left, inLeft)
    keep(right, inRight)
    val (goneLeft, goneRight) = (leave(left).filterNot(matched), leave(right).filterNot(matched))
    val nothing = (n: Query) => Row(0, n.nullable.map(_ => None), 0)
    out ++
      (if (join.keepsLeft) goneLeft.map(l => both(l.row, nothing(join.right))) else Nil) ++
      (if (join.keepsRight) goneRight.map(r => both(nothing(join.left), r.row).copy(id = r.row.id)) else Nil)
  }

  private def both(left: Row, right: Row): Row = Row(left.id, left.times ++ right.times, left.n + right.n)

  /** What is remembered after the batch. */
  def after(now: Long): Memory = {
    val carried = for {
      (place, columns) <- marks.others
      (column, in) <- columns
    } yield {
      val node = nodes(place.node)
      // The oldest value in state, and less than what came in with this batch: either may still come out.
      val oldest = kept.getOrElse(place, Vector.empty).flatMap(k => valueOf(node, k.row, column)).minOption
      val inState = Mark(oldest.map(micros => Math.floorDiv(micros, 1000L) - 1), isIdle = oldest.isEmpty)
      val was = before.carried.get((place, column))
      (place, column) -> in.least(inState).atLeast(was)
    }
    Memory(
      sourcesAfter(now),
      before.begun.orElse(Some(now)),
      now,
      now,
      marks.floors,
      carried,
      marks.own,
      kept,
      matched,
      marks.progress,
      canGoOn = true)
  }

  private def sourcesAfter(now: Long): Map[Int, Source] = {
    val known = nodes.origins.foldLeft(marks.sources) { case (sources, (at, input)) =>
      val source = sources.getOrElse(at, Source())
      sources +
        (at -> (if (before.begun.isEmpty) source.withSplits(input.splits.getOrElse(Set.empty), now) else source))
    }
    observed.foldLeft(known) { case (sources, (at, Observed(clocks, catchesUp))) =>
      val before = sources.getOrElse(at, Source())
      val source = nodes(at) match {
        case input: Input if clocks.nonEmpty => before.afterPause(now, input)
        case _ => before
      }
      sources + (at -> source.observe(clocks, now, catchesUp))
    }
  }

  /** Of a count, the others have moved behind its window. */
  private def valueOf(node: Query, row: Row, column: Int): Option[Long] = node match {
    case windows: Windows => row.times(1 + windows.others.indexOf(column))
    case _ => row.times(column)
  }
}

private object Work {

  /** The clocks of the splits of an origin that had rows (ms). */
  final case class Observed(clocks: Map[Int, Long], catchesUp: Boolean)
}
