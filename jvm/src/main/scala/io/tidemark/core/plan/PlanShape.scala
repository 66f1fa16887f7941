package io.tidemark.core.plan

import io.tidemark.core.{ColumnId, Input, OperatorId, OriginName, Side}

/** A streaming plan reduced to what watermarks need: where they begin, join, wait and advance.
  *
  * The engine translates Spark's physical plan into it. [[Propagation]] computes every operator's watermarks from it
  * alone.
  */
sealed trait PlanShape {

  /** The operator's name in reports. */
  def label: String
  def inputs: Seq[PlanShape]
}

object PlanShape {

  /** What the state of an operator leaves by. */
  sealed trait Eviction
  object Eviction {
    case object ByWatermark extends Eviction

    /** No row ever leaves. */
    case object Never extends Eviction

    /** A user's function decides, without event time; or there is one row of state at most. */
    case object ByItself extends Eviction
  }

  /** Whether any row is late at an operator. */
  def dropsLate(operator: PlanShape): Boolean = operator match {
    case stateful: Stateful => stateful.dropsLate
    case _ => true
  }

  /** What the state of one input of an operator leaves by. */
  def eviction(operator: PlanShape, side: Side): Eviction = operator match {
    case stateful: Stateful => stateful.eviction
    case join: Join if join.side(side).bound.isEmpty => Eviction.Never
    case _ => Eviction.ByWatermark
  }

  /** A leaf without event time. */
  final case class Source(label: String) extends PlanShape {
    def inputs: Seq[PlanShape] = Nil
  }

  /** A `withWatermark` node: `column` gets the origin's own watermark, other columns keep theirs. */
  final case class Origin(label: String, name: OriginName, column: ColumnId, input: PlanShape) extends PlanShape {
    def inputs: Seq[PlanShape] = Seq(input)
  }

  /** A stateless operator: each event-time column of the output with the input column that it comes from. A column with
    * several times inside it is listed with each of them.
    */
  final case class Stateless(label: String, inputs: Seq[PlanShape], columns: Seq[(ColumnId, ColumnId)])
      extends PlanShape

  /** A union: for each event-time column of the output its position, and the input columns there.
    *
    * @param id its number among the unions with a floor, which are those with two or more inputs with event time
    */
  final case class Union(label: String, id: Option[Int], inputs: Seq[PlanShape], columns: Seq[UnionColumn])
      extends PlanShape

  /** @param position the column's position in the union's output
    * @param inputs the event-time column of each input at that position; `None` for an input without event time
    */
  final case class UnionColumn(out: ColumnId, position: Int, inputs: Seq[Option[ColumnId]])

  /** A stateful operator with one input.
    *
    * @param active the column that decides which rows are late and what state is evicted; `None` for the edge's minimum
    * @param passes output columns whose rows are emitted no later than the active watermark allows
    * @param carried output columns whose old values may leave the state later
    * @param emitsAtOnce whether results are emitted as rows arrive, so that the watermark evicts state and emits nothing
    * @param dropsLate whether any row is late there
    * @param eviction what state leaves by
    */
  final case class Stateful(
      label: String,
      id: OperatorId,
      input: PlanShape,
      active: Option[ColumnId],
      passes: Seq[ColumnId],
      carried: Seq[ColumnId],
      emitsAtOnce: Boolean = false,
      dropsLate: Boolean = true,
      eviction: Eviction = Eviction.ByWatermark)
      extends PlanShape {
    def inputs: Seq[PlanShape] = Seq(input)
  }

  /** A stream-stream join; each side is filtered by its own column and evicted by its own bound.
    * @param emitsAtOnce as for [[Stateful]]; rows without a match make the others wait
    */
  final case class Join(
      label: String,
      id: OperatorId,
      left: JoinSide,
      right: JoinSide,
      emitsAtOnce: Boolean = false)
      extends PlanShape {
    def inputs: Seq[PlanShape] = Seq(left.input, right.input)
    def side(side: Side): JoinSide = if (side == Side.Left) left else right
  }

  /** @param active the column that the join names, else the one declared last; it decides which rows of this side are
    *   late
    * @param bound the bound up to which the state of this side is evicted; `None` if it never is
    * @param activeOut what is known of the active column when it leaves the join
    * @param carried event-time columns of this side that leave with the age of the state
    * @param comesOut whether the output has this side's columns; it lacks those of the right side of a left semi join
    * @param follows whether an idle side takes the other side's watermark; if not, the join waits for it
    */
  final case class JoinSide(
      input: PlanShape,
      active: Option[ColumnId],
      bound: Option[Bound],
      activeOut: ActiveOut,
      carried: Seq[ColumnId],
      comesOut: Boolean,
      follows: Boolean = false)

  /** How the active column of a join side leaves the join. */
  sealed trait ActiveOut
  object ActiveOut {

    /** Not beyond the watermark up to which the state of its side is evicted. */
    case object Bounded extends ActiveOut

    /** This column bounds no state. As in Spark the missing bound is ignored, and rows of any age may be emitted. */
    case object Unbounded extends ActiveOut

    /** This column bounds no state, so nothing is promised downstream. */
    case object Withheld extends ActiveOut
  }

  /** State is evicted up to the watermark of `column`, an input column of the join's `of` side, moved by `offsetMillis`. */
  final case class Bound(of: Side, column: ColumnId, offsetMillis: Long)

  /** A new event-time column whose watermark is that of the operator below (`transformWithState`). */
  final case class Declared(label: String, column: ColumnId, input: PlanShape) extends PlanShape {
    def inputs: Seq[PlanShape] = Seq(input)
  }

  /** A node whose output has columns with Spark's mark and nothing else known, as of a Python map. Their watermark is
    * the minimum of all that arrives.
    *
    * @param id its number among the unions, whose floors it shares; numbers of marks are apart, so that unions keep
    *   theirs
    * @param columns the columns that have only the mark
    * @param passes the known columns, which pass through
    */
  final case class Marked(label: String, id: Int, columns: Seq[ColumnId], passes: Seq[ColumnId], input: PlanShape)
      extends PlanShape {
    def inputs: Seq[PlanShape] = Seq(input)
  }

  /** The origin whose watermark an event-time column has, wherever the column came from. At a union it is that of the
    * first input, and at an operator that begins a new column that of the operator's own column. It does not say which
    * origin holds the watermark back.
    */
  def originOf(shape: PlanShape, column: ColumnId): Option[OriginName] = originsOf(shape, column).headOption

  /** The same with the origins of all inputs of a union, in their order. */
  private def originsOf(shape: PlanShape, column: ColumnId): Seq[OriginName] = shape match {
    case _: Source => Nil
    case origin: Origin if origin.column == column => Seq(origin.name)
    case stateless: Stateless =>
      stateless.columns.collectFirst { case (`column`, from) => from }.toSeq.flatMap { from =>
        stateless.inputs.flatMap(originsOf(_, from))
      }
    case union: Union =>
      union.columns.find(_.out == column).toSeq.flatMap { at =>
        union.inputs.zip(at.inputs).collect { case (input, Some(from)) => originsOf(input, from) }.flatten
      }
    case declared: Declared if declared.column == column => judgedByAll(declared.input, Side.Left)
    case other => other.inputs.flatMap(originsOf(_, column))
  }

  /** The origins whose watermark decides which rows of an operator's input are late: that of its active column, or the
    * only one there is. Several, in the order of its inputs, if a union has made that column of theirs. None without an
    * active column, or if the column's origin is unknown.
    */
  def judgedByAll(operator: PlanShape, side: Side): Seq[OriginName] = {
    val (input, active) = operator match {
      case stateful: Stateful => (stateful.input, stateful.active)
      case join: Join => (join.side(side).input, join.side(side).active)
      case other => (other, None)
    }
    active.toSeq.flatMap { column =>
      def origins = postOrder(input).collect { case origin: Origin => origin.name }.distinct
      originsOf(input, column).distinct match {
        case Nil => if (origins.size == 1) origins else Nil
        case found => found
      }
    }
  }

  /** The inputs of an operator with state, one for each side. */
  def inputsOf(operator: PlanShape): Seq[Input] = operator match {
    case stateful: Stateful => Seq(Input(stateful.id, Side.Left))
    case join: Join => Seq[Side](Side.Left, Side.Right).map(Input(join.id, _))
    case _ => Nil
  }

  /** All nodes, inputs before the nodes that read them. */
  def postOrder(shape: PlanShape): Seq[PlanShape] = shape.inputs.flatMap(postOrder) :+ shape
}
