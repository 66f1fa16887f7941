package io.tidemark.oracle

import Oracle._
import Query._

/** Says what a query has to give out, trigger by trigger: rows, columns, watermarks, late rows and eviction as they are
  * defined, without Spark and without the engine.
  */
final class Oracle(query: Query) {
  private val nodes = query.nodes.toVector
  // By where they are: two operators that look the same are two.
  private def number(of: Query): Int = nodes.indexWhere(_ eq of)

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
    val marks = new Marks(memory, now, Set.empty)
    marks.progress != memory.progress || {
      val next = run(memory, now, Map.empty)._1
      next.timeless != memory.timeless && goesOn(next, now)
    }
  }

  private def run(before: Memory, now: Long, rows: Map[Int, Seq[Row]]): (Memory, Batch) = {
    val marks = new Marks(before, now, rows.filter(_._2.nonEmpty).keySet)
    val work = new Work(before, marks, rows)
    val out = work.rowsOf(query)
    (work.after(now), Batch(out.map(_.toString).sorted, work.late))
  }

  /** The watermarks of one batch: of every column on every edge, and of every operator's inputs. */
  private final class Marks(memory: Memory, now: Long, waiting: Set[Int]) {
    var own = Map.empty[Place, Mark]
    var closed = Map.empty[Place, Mark]
    var others = Map.empty[Place, Vector[(Int, Mark)]]
    var unions = Map.empty[(Int, Int), Mark]
    val out: Vector[Mark] = of(query)

    /** The sum over each operator's inputs; it grows when an operator goes on. */
    def progress: Map[Int, Long] = own.groupMapReduce(_._1.node)(_._2.spark)(_ + _)

    private def origin(node: Int, idleAfter: Option[Int], isWaiting: Boolean): Mark = {
      val clock = memory.clocks.get(node)
      val since = memory.heard.get(node).orElse(memory.begun)
      val idle = idleAfter.exists(after => !isWaiting && since.exists(now - _ >= after * 1000L))
      Mark(clock, idle)
    }

    private def of(node: Query): Vector[Mark] = {
      val at = number(node)
      node match {
        case Input(input, _, idleAfter) => Vector(origin(at, idleAfter, waiting(input)))
        case Without(input, _) => of(input)
        case Again(input, column, _) => of(input).updated(column, origin(at, None, isWaiting = false))
        case Union(left, right) =>
          of(left).zip(of(right)).zipWithIndex.map { case ((l, r), column) =>
            val least = l.least(r).atLeast(memory.unions.get((at, column)))
            unions += (at, column) -> least
            least
          }
        case Distinct(input, column) =>
          val in = of(input)
          goes(Place(at, 0), in(column), in(column), Vector.empty)
          in
        case Windows(input, column, _, by, _) =>
          val in = of(input)
          goes(Place(at, 0), in(column), in(column), by.map(c => c -> in(c)))
          in(column) +: by.map(carried(Place(at, 0), _))
        case join: Join => joined(at, join)
      }
    }

    /** Nothing can be said of the rows that an idle side still has to bring: it is waited for, unless both are idle. */
    private def joined(at: Int, join: Join): Vector[Mark] = {
      val (left, right) = (of(join.left), of(join.right))
      val bothIdle = (left ++ right).forall(_.isIdle)
      def waited(mark: Mark) = if (bothIdle) mark else mark.copy(isIdle = false)
      val (l, r) = (waited(left(join.leftTime)), waited(right(join.rightTime)))
      // A row of the left is of no use once the right has come past all that would match it, and the other way round.
      val (leftClosed, rightClosed) = (r.plus(-join.most * 1000L - 1), l.plus(join.least * 1000L - 1))
      def side(place: Place, in: Vector[Mark], time: Int, own: Mark, closed: Mark): Vector[Mark] = {
        val rest = in.indices.filterNot(_ == time).toVector
        goes(place, own, closed, rest.map(c => c -> in(c)))
        in.indices.map(c => if (c == time) own.earlier(closed) else carried(place, c)).toVector
      }
      val outLeft = side(Place(at, 0), left, join.leftTime, l, leftClosed)
      val outRight = side(Place(at, 1), right, join.rightTime, r, rightClosed)
      if (join.kind == "left_semi") outLeft else outLeft ++ outRight
    }

    private def goes(place: Place, own: Mark, closed: Mark, others: Vector[(Int, Mark)]): Unit = {
      this.own += place -> own
      this.closed += place -> closed
      this.others += place -> others
    }

    private def carried(place: Place, column: Int): Mark = memory.carried.getOrElse((place, column), Mark.unknown)
  }

  /** The rows of one batch, from the inputs on upwards. */
  private final class Work(before: Memory, marks: Marks, arrived: Map[Int, Seq[Row]]) {
    var late = 0
    private var clocks = before.clocks
    private var heard = Set.empty[Int]
    private var kept = before.kept
    private var matched = before.matched

    def rowsOf(node: Query): Seq[Row] = {
      val at = number(node)
      node match {
        case Input(input, delay, _) =>
          val rows = arrived.getOrElse(input, Nil)
          if (rows.nonEmpty) heard += at
          hear(at, rows.flatMap(_.times.head), delay)
          rows
        case Without(input, rest) => rowsOf(input).filterNot(_.id % 3 == rest)
        case Again(input, column, delay) =>
          val rows = rowsOf(input)
          hear(at, rows.flatMap(_.times(column)), delay)
          rows
        case Union(left, right) => rowsOf(left) ++ rowsOf(right)
        case Distinct(input, column) =>
          val rows = onTime(Place(at, 0), rowsOf(input).map(row => row -> row.times(column))).map(_._1).distinct
          val known = kept.getOrElse(Place(at, 0), Vector.empty).map(_.row)
          val fresh = rows.filterNot(known.contains)
          keep(Place(at, 0), fresh.map(row => Kept(row, row.times(column).get)))
          val _ = leave(Place(at, 0))
          fresh
        case windows: Windows => counted(Place(at, 0), windows, rowsOf(windows.input))
        case join: Join => joined(at, join, rowsOf(join.left), rowsOf(join.right))
      }
    }

    private def hear(origin: Int, times: Seq[Long], delay: Int): Unit =
      times.maxOption.foreach { newest =>
        val clock = Math.floorDiv(newest, 1000L) - delay * 1000L
        clocks += origin -> clocks.get(origin).fold(clock)(math.max(_, clock))
      }

    /** A row is late by the watermark that its operator had in the batch before. */
    private def onTime(place: Place, rows: Seq[(Row, Option[Long])]): Seq[(Row, Option[Long])] = {
      val mark = before.own.get(place).fold(0L)(_.spark) * 1000L
      val (tooLate, rest) = rows.partition(_._2.exists(_ <= mark))
      late += tooLate.size
      rest
    }

    private def keep(place: Place, rows: Seq[Kept]): Unit =
      kept += place -> (kept.getOrElse(place, Vector.empty) ++ rows)

    private def leave(place: Place): Seq[Kept] = {
      val closed = marks.closed(place).spark * 1000L
      val (gone, rest) = kept.getOrElse(place, Vector.empty).partition(_.time <= closed)
      kept += place -> rest
      gone
    }

    private def counted(place: Place, windows: Windows, rows: Seq[Row]): Seq[Row] = {
      val length = windows.length * 1000000L
      val ends = rows.flatMap { row =>
        row.times(windows.column).map(time => row -> Option((Math.floorDiv(time, length) + 1) * length))
      }
      keep(
        place,
        onTime(place, ends).map { case (row, end) =>
          Kept(Row(row.id, end.map(_ - 1) +: windows.others.map(row.times), row.n), end.get)
        })
      leave(place).map(_.row).groupBy(row => (row.times, Option.when(windows.byId)(row.id))).toSeq.map {
        case ((times, _), rows) => Row(rows.map(_.id).min, times, rows.map(_.n).sum)
      }
    }

    private def joined(at: Int, join: Join, newLeft: Seq[Row], newRight: Seq[Row]): Seq[Row] = {
      val (left, right) = (Place(at, 0), Place(at, 1))
      def taken(place: Place, rows: Seq[Row], time: Int) =
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
        clocks,
        before.heard ++ heard.map(_ -> now),
        before.begun.orElse(Some(now)),
        marks.unions,
        carried,
        marks.own,
        kept,
        matched,
        marks.progress,
        canGoOn = true)
    }

    /** Of a count, the others have moved behind its window. */
    private def valueOf(node: Query, row: Row, column: Int): Option[Long] = node match {
      case windows: Windows => row.times(1 + windows.others.indexOf(column))
      case _ => row.times(column)
    }
  }
}

object Oracle {

  /** @param rows what comes out, as texts in order; @param late how many rows were late at all operators together */
  final case class Batch(rows: Seq[String], late: Int)

  /** An input (0: the only or left one, 1: the right one) of a node of the query. */
  final case class Place(node: Int, side: Int)

  /** A row in state; two that are equal are two. `time` is what it is judged by (µs). */
  final class Kept(val row: Row, val time: Long)
  object Kept {
    def apply(row: Row, time: Long): Kept = new Kept(row, time)
  }

  /** A watermark (ms); `None` before there is one. */
  final case class Mark(millis: Option[Long], isIdle: Boolean = false) {
    def spark: Long = millis.fold(0L)(math.max(_, 0L))
    def plus(more: Long): Mark = copy(millis = millis.map(_ + more))

    /** Of two inputs: who is idle does not count; if both are, they are idle as far as the one ahead. */
    def least(that: Mark): Mark =
      if (isIdle && that.isIdle) Mark((millis ++ that.millis).maxOption, isIdle = true)
      else if (isIdle) that
      else if (that.isIdle) this
      else earlier(that)

    def earlier(that: Mark): Mark =
      if (millis.isEmpty) this
      else if (that.millis.isEmpty) that
      else if (millis.get <= that.millis.get) this
      else that

    def atLeast(floor: Option[Mark]): Mark = copy(millis = (millis ++ floor.flatMap(_.millis)).maxOption)
  }
  object Mark {
    val unknown: Mark = Mark(None)
  }

  /** All that one batch hands to the next.
    *
    * @param clocks of each origin: its largest time less its delay (ms)
    * @param heard when each origin last had rows; @param begun when the first batch ended (ms)
    * @param own each operator's watermarks in the batch, by which the next one's rows are late
    * @param progress those by which it is asked whether an operator would go on
    * @param canGoOn whether batches without data may run
    */
  final case class Memory(
      clocks: Map[Int, Long] = Map.empty,
      heard: Map[Int, Long] = Map.empty,
      begun: Option[Long] = None,
      unions: Map[(Int, Int), Mark] = Map.empty,
      carried: Map[(Place, Int), Mark] = Map.empty,
      own: Map[Place, Mark] = Map.empty,
      kept: Map[Place, Vector[Kept]] = Map.empty,
      matched: Set[Kept] = Set.empty,
      progress: Map[Int, Long] = Map.empty,
      canGoOn: Boolean = false) {

    /** What watermarks depend on. */
    def timeless: (Any, Any, Any) = (clocks, unions, carried)
  }

  /** A case from beginning to end: what comes of each step. */
  def run(one: Case): Seq[Option[Batch]] = {
    val oracle = new Oracle(one.query)
    one.steps.foldLeft((Memory(), 0L, Vector.empty[Option[Batch]])) { case ((memory, time, all), step) =>
      val now = time + step.seconds * 1000L
      val rows = step.rows.view.mapValues(_.map { case (id, t) => Row(id, Vector(Some(t * 1000000L)), 1) }).toMap
      val (after, batch) = oracle.trigger(if (step.restart) oracle.restarted(memory) else memory, now, rows)
      (after, now, all :+ batch)
    }._3
  }
}
