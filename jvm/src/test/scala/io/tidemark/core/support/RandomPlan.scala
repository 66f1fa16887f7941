package io.tidemark.core.support

import scala.util.Random

import io.tidemark.core.{ColumnId, OperatorId, OriginName, Side}
import io.tidemark.core.plan.PlanShape
import io.tidemark.core.plan.PlanShape._

/** Draws plans: 1 to 4 inputs, then 1 to 6 operators of every kind, column ids as a planner would give them. */
private[core] final class RandomPlan(random: Random) {
  import RandomPlan._

  /** A plan so far, and the event-time columns that leave it. */
  private case class Part(shape: PlanShape, columns: Vector[ColumnId])

  private val fresh = Iterator.from(1)
  private def column(): ColumnId = ColumnId(fresh.next().toLong)
  private def operator(): OperatorId = OperatorId(fresh.next().toLong)
  private var keys = 0
  private var unions = 0

  private def anyOf[A](all: Seq[A]): A = all(random.nextInt(all.size))
  private def some[A](all: Vector[A]): Vector[A] = all.filter(_ => random.nextBoolean())

  def plan(): PlanShape = {
    val leaves = Vector.fill(1 + random.nextInt(4))(leaf())
    val grown = (1 to 1 + random.nextInt(6)).foldLeft(leaves)((parts, _) => grow(parts))
    Iterator.iterate(grown)(combine).dropWhile(_.size > 1).next().head.shape
  }

  private def leaf(): Part = {
    // Now and then an input is read a second time, as in a self-join.
    val key = if (keys > 0 && random.nextInt(6) == 0) random.nextInt(keys) else { keys += 1; keys - 1 }
    val id = column()
    Part(Origin("withWatermark", OriginName(s"o$key", 0), id, Source("files")), Vector(id))
  }

  private def grow(parts: Vector[Part]): Vector[Part] =
    if (parts.size > 1 && random.nextInt(3) == 0) combine(parts)
    else {
      val at = random.nextInt(parts.size)
      parts.updated(at, on(parts(at)))
    }

  private def combine(parts: Vector[Part]): Vector[Part] = random.shuffle(parts) match {
    case a +: b +: c +: rest if random.nextInt(4) == 0 => rest :+ union(a, Vector(b, c))
    case a +: b +: rest => rest :+ (if (random.nextBoolean()) union(a, Vector(b)) else join(a, b))
    case same => same
  }

  private def on(part: Part): Part =
    if (part.columns.isEmpty) Part(stateful("limit", part, None, Vector.empty, Vector.empty), Vector.empty)
    else
      random.nextInt(11) match {
        case 0 => renamed(part)
        case 1 => windowed(part)
        case 2 => redefined(part)
        case 3 => Part(stateful("limit", part, None, part.columns, Vector.empty), part.columns)
        case 4 =>
          Part(stateful("dropDuplicates", part, Some(anyOf(part.columns)), part.columns, Vector.empty), part.columns)
        case 5 => declared(part)
        case 6 => withTable(part)
        case 7 => mapped(part)
        case _ => aggregated(part)
      }

  private def stateful(
      label: String,
      part: Part,
      active: Option[ColumnId],
      passes: Seq[ColumnId],
      carried: Seq[ColumnId]) = Stateful(label, operator(), part.shape, active, passes, carried)

  private def renamed(part: Part): Part = {
    val columns = (if (random.nextInt(8) == 0) some(part.columns) else part.columns).map(column() -> _)
    Part(Stateless("project", Seq(part.shape), columns), columns.map(_._1))
  }

  private def windowed(part: Part): Part = {
    val columns = part.columns.map(c => c -> c) :+ (column() -> anyOf(part.columns))
    Part(Stateless(Window, Seq(part.shape), columns), columns.map(_._1))
  }

  private def redefined(part: Part): Part = {
    val (from, again) = (anyOf(part.columns), column())
    keys += 1
    val name = OriginName(s"o${keys - 1}", 0)
    if (random.nextBoolean()) Part(Origin("withWatermark", name, from, part.shape), part.columns)
    else {
      val doubled = Stateless("project", Seq(part.shape), part.columns.map(c => c -> c) :+ (again -> from))
      Part(Origin("withWatermark", name, again, doubled), part.columns :+ again)
    }
  }

  private def declared(part: Part): Part = {
    val id = column()
    Part(Declared("event time of state", id, stateful(Groups, part, Some(anyOf(part.columns)), Nil, Nil)), Vector(id))
  }

  /** As by a Python map, which keeps one of the columns without the plan showing it. */
  private def mapped(part: Part): Part = {
    val (from, id) = (anyOf(part.columns), column())
    unions += 1
    Part(Marked(s"$Map${from.value}", unions, Seq(id), Nil, part.shape), Vector(id))
  }

  private def aggregated(part: Part): Part = {
    val active = anyOf(part.columns)
    val carried = some(part.columns.filterNot(_ == active))
    Part(stateful(Aggregation, part, Some(active), Seq(active), carried), active +: carried)
  }

  private def union(first: Part, others: Vector[Part]): Part = {
    unions += 1
    val columns = first.columns.zipWithIndex.map { case (out, position) =>
      val inputs = others.map(other => if (other.columns.isEmpty) None else Some(anyOf(other.columns)))
      UnionColumn(out, position, Some(out) +: inputs)
    }
    Part(Union("union", Some(unions), (first +: others).map(_.shape), columns), first.columns)
  }

  /** A union with an input that has no event time at all. */
  private def withTable(part: Part): Part = {
    val columns = part.columns.zipWithIndex.map { case (out, position) =>
      UnionColumn(out, position, Seq(Some(out), None))
    }
    Part(Union("union", None, Seq(part.shape, Source("table")), columns), part.columns)
  }

  private def join(l: Part, r: Part): Part = {
    val (left, right) =
      (l.columns.headOption.map(_ => anyOf(l.columns)), r.columns.headOption.map(_ => anyOf(r.columns)))
    // low <= right - left <= high; without one of the two, a side has no bound.
    val (low, high) =
      anyOf(Seq((Some(0L), Some(0L)), (Some(-20L), Some(5L)), (Some(0L), None), (None, Some(9L)), (None, None)))
    val semi = random.nextInt(5) == 0
    val free = anyOf(Seq(ActiveOut.Unbounded, ActiveOut.Withheld))
    def side(part: Part, active: Option[ColumnId], bound: Option[Bound], comesOut: Boolean) = JoinSide(
      part.shape,
      active,
      bound,
      if (bound.isEmpty) free else ActiveOut.Bounded,
      part.columns.filterNot(active.contains),
      comesOut)
    val slack = if (low == high) 0L else 1L
    val boundOfLeft = for (_ <- left; to <- right; h <- high) yield Bound(Side.Right, to, -h - slack)
    val boundOfRight = for (_ <- right; to <- left; w <- low) yield Bound(Side.Left, to, w - slack)
    Part(
      Join("join", operator(), side(l, left, boundOfLeft, true), side(r, right, boundOfRight, !semi)),
      l.columns ++ (if (semi) Vector.empty else r.columns))
  }
}

private[core] object RandomPlan {
  // What the row model must tell apart.
  val Window = "window"
  val Groups = "groups"
  val Aggregation = "aggregation"
  val Map = "map of "

  def apply(seed: Long): PlanShape = new RandomPlan(new Random(seed)).plan()
}
