package io.tidemark.core.plan

import io.tidemark.core.{CarriedSlot, ColumnId, Input, Side, UnionSlot, Watermark}
import io.tidemark.core.plan.PlanShape._

/** Carries watermarks from the origins through the operators. This is the one place with the rule of each operator.
  *
  * A pure function of the plan's shape and of a [[Decision]]. For batch n-1 it gives the watermarks that decide which
  * rows are late, and for batch n those that close windows and evict state.
  */
object Propagation {

  def levels(shape: PlanShape, decision: Decision): OperatorWatermarks = {
    val run = new Run(decision)
    val root = run.visit(shape)
    OperatorWatermarks(run.inputs.result(), run.unions.result(), root)
  }

  /** The same when nothing is left in state that is older. Carried columns leave an operator with the watermark of the batch
    * before, so this takes a batch for each operator.
    */
  def settled(shape: PlanShape, decision: Decision): OperatorWatermarks = {
    @annotation.tailrec
    def after(floors: Floors, left: Int): OperatorWatermarks = {
      val now = levels(shape, decision.copy(floors = floors))
      val carried = for {
        (input, watermarks) <- now.inputs
        (held, index) <- watermarks.carried.zipWithIndex
      } yield CarriedSlot(input, index) -> held.watermark
      if (left == 0 || carried == floors.carried) now else after(floors.copy(carried = carried), left - 1)
    }
    after(decision.floors, PlanShape.postOrder(shape).flatMap(PlanShape.inputsOf).map(_.operator).distinct.size)
  }

  private final class Run(decision: Decision) {
    val inputs = Map.newBuilder[Input, InputWatermarks]
    val unions = Map.newBuilder[UnionSlot, Watermark]

    def visit(shape: PlanShape): PropagatedNode = {
      val below = shape.inputs.map(visit)
      PropagatedNode(shape, out(shape, below.map(_.out)), below)
    }

    private def out(shape: PlanShape, in: Seq[Edge]): Edge = shape match {
      case _: Source => Edge.empty
      case origin: Origin => originOut(origin, in.head)
      case stateless: Stateless => statelessOut(stateless, in)
      case union: Union => unionOut(union, in)
      case stateful: Stateful => statefulOut(stateful, in.head)
      case join: Join => joinOut(join, in.head, in(1))
      case marked: Marked => markedOut(marked, in.head)
      case declared: Declared =>
        val own = in.head.least.getOrElse(AttributedWatermark.unknown)
        Edge(Map(declared.column -> own), Some(own))
    }

    private def originOut(origin: Origin, in: Edge): Edge = {
      val own = AttributedWatermark(decision.origin(origin.name), Some(origin.name))
      Edge(in.columns.updated(origin.column, own), AttributedWatermark.least(in.least ++ Some(own)))
    }

    private def statelessOut(node: Stateless, in: Seq[Edge]): Edge = {
      val known = in.foldLeft(Map.empty[ColumnId, AttributedWatermark])(_ ++ _.columns)
      val columns = node.columns.flatMap { case (to, from) => known.get(from).map(to -> _) }
      // A column computed from several times has the largest of their watermarks.
      Edge(columns.groupMapReduce(_._1)(_._2)(_ earlier _), AttributedWatermark.least(in.flatMap(_.least)))
    }

    private def unionOut(union: Union, in: Seq[Edge]): Edge = {
      val columns = union.columns.map { column =>
        val each = column.inputs.zip(in).flatMap {
          case (Some(id), edge) => Some(edge.column(id))
          // Event time is below but no longer in the row, so the rows are as old as anything that arrived there.
          case (None, edge) => edge.least
        }
        val least = AttributedWatermark.least(each).getOrElse(AttributedWatermark.unknown)
        column.out -> union.id.map(UnionSlot(_, column.position)).fold(least) { slot =>
          val held = least.atLeast(decision.floors.union(slot))
          unions += slot -> held.watermark
          held
        }
      }
      Edge(columns.toMap, AttributedWatermark.least(in.flatMap(_.least)))
    }

    /** The floor keeps the minimum from going back when an idle input returns. */
    private def markedOut(marked: Marked, in: Edge): Edge = {
      val least = AttributedWatermark.least(in.columns.values ++ in.least).getOrElse(AttributedWatermark.unknown)
      val columns = marked.columns.zipWithIndex.map { case (column, position) =>
        val slot = UnionSlot(marked.id, position)
        val held = least.atLeast(decision.floors.union(slot))
        unions += slot -> held.watermark
        column -> held
      }
      Edge((marked.passes.map(c => c -> in.column(c)) ++ columns).toMap, in.least)
    }

    private def statefulOut(node: Stateful, in: Edge): Edge = {
      val id = Input(node.id, Side.Left)
      // Without an active column the operator uses the minimum of its inputs, which advanced while some were idle.
      val own =
        node.active.fold(in.least.getOrElse(AttributedWatermark.unknown).atLeast(decision.floors.input(id)))(in.column)
      inputs += id -> InputWatermarks(own, Some(own), node.carried.map(in.column), closes = true, node.active.isEmpty)
      val columns = node.passes.map(c => c -> in.column(c)) ++ carriedOut(id, node.carried, in)
      Edge(columns.toMap, in.least.map(_ => own))
    }

    private def joinOut(join: Join, left: Edge, right: Edge): Edge = {
      def edge(side: Side): Edge = if (side == Side.Left) left else right
      val bothIdle = Seq(left, right).forall(_.least.exists(_.watermark.isIdle))
      def raw(at: Side): AttributedWatermark = join.side(at).active match {
        // The column has Spark's mark, but no watermark is below: as in Spark it uses the other side's.
        case Some(_) if edge(at).least.isEmpty && edge(at.other).least.nonEmpty => raw(at.other)
        case Some(column) => edge(at).column(column)
        case None => edge(at).least.getOrElse(AttributedWatermark.unknown)
      }
      // Future rows of an idle side are unknown, so the join waits for that side unless both are idle.
      def waiting(held: AttributedWatermark): AttributedWatermark = if (bothIdle) held else held.active
      def own(at: Side): AttributedWatermark = {
        val (self, other) = (raw(at), raw(at.other))
        val goesOn = join.side(at).follows && self.watermark.isIdle && !bothIdle
        val far = if (goesOn) AttributedWatermark(self.watermark.later(other.watermark), other.by) else waiting(self)
        // A side keeps the watermark that it once took from the other, even if it returned or its rule changed since.
        far.atLeast(decision.floors.input(Input(join.id, at)))
      }
      def column(at: Side, id: ColumnId): AttributedWatermark =
        if (join.side(at).active.contains(id)) own(at) else waiting(edge(at).column(id))
      val columns = Seq(Side.Left, Side.Right).flatMap { at =>
        val side = join.side(at)
        val evicted = side.bound.map { bound =>
          val held = column(bound.of, bound.column)
          // The other side names no event time, so its rows may be as old as all that arrives there, and match until
          // then.
          val both = if (bound.of == at && edge(at.other).least.nonEmpty) held.earlier(own(at.other)) else held
          both.plus(bound.offsetMillis)
        }
        val id = Input(join.id, at)
        val closes = side.activeOut == ActiveOut.Bounded
        if (side.active.nonEmpty || edge(at).least.nonEmpty || evicted.nonEmpty)
          inputs += id -> InputWatermarks(
            own(at),
            evicted,
            side.carried.map(edge(at).column),
            closes,
            floored = side.follows || side.active.isEmpty || edge(at).least.isEmpty)
        val active = side.active.map(_ -> own(at))
        val carried = carriedOut(id, side.carried, edge(at))
        val out = side.activeOut match {
          case ActiveOut.Bounded => active.map { case (c, held) => c -> evicted.fold(held)(held.earlier) } ++ carried
          // As in Spark, an unbounded side uses the minimum of all that arrives.
          case ActiveOut.Unbounded =>
            val other = Some(at.other).filter(edge(_).least.nonEmpty).map(own)
            (active ++ carried).map { case (c, held) => c -> other.fold(held)(held.earlier) }
          case ActiveOut.Withheld => (active ++ carried).map { case (c, _) => c -> AttributedWatermark.unknown }
        }
        if (side.comesOut) out else Nil
      }
      val least = if (columns.isEmpty) AttributedWatermark.least(left.least ++ right.least)
      else AttributedWatermark.least(columns.map(_._2))
      Edge(columns.toMap, least)
    }

    private def carriedOut(input: Input, columns: Seq[ColumnId], in: Edge): Seq[(ColumnId, AttributedWatermark)] =
      columns.zipWithIndex.map { case (column, index) =>
        column -> AttributedWatermark(decision.floors.carriedColumn(CarriedSlot(input, index)), in.column(column).by)
      }
  }
}
