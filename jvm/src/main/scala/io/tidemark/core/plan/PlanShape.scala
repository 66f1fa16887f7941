package io.tidemark.core.plan

import io.tidemark.core.{ColumnId, OperatorId, OriginName, Side}

/** A streaming plan reduced to what watermarks need: where they begin, join, wait and go on.
  *
  * The engine translates Spark's physical plan into it, [[Propagation]] reads it, and nothing else is needed to say
  * what every operator's watermark is.
  */
sealed trait PlanShape {

  /** What the operator is called in reports. */
  def label: String
  def inputs: Seq[PlanShape]
}

object PlanShape {

  /** A leaf without event time. */
  final case class Source(label: String) extends PlanShape {
    def inputs: Seq[PlanShape] = Nil
  }

  /** A `withWatermark` node: `column` gets the origin's own watermark, other columns keep theirs. */
  final case class Origin(label: String, name: OriginName, column: ColumnId, input: PlanShape) extends PlanShape {
    def inputs: Seq[PlanShape] = Seq(input)
  }

  /** A stateless operator: each output event-time column, and the input column it comes from; one that has several times
    * inside it is there with each of them.
    */
  final case class Stateless(label: String, inputs: Seq[PlanShape], columns: Seq[(ColumnId, ColumnId)])
      extends PlanShape

  /** A union: for each event-time output column its position, and the column there of every input that has one.
    *
    * @param id its number among the unions that have a floor: those of two inputs or more with event time
    */
  final case class Union(label: String, id: Option[Int], inputs: Seq[PlanShape], columns: Seq[UnionColumn])
      extends PlanShape

  /** @param position place of the column in the union's output
    * @param inputs for each input of the union the event-time column at that position; `None` where the input has no
    *   event-time column at all
    */
  final case class UnionColumn(out: ColumnId, position: Int, inputs: Seq[Option[ColumnId]])

  /** A stateful operator with one input.
    *
    * @param active the column by which rows are late and state is evicted; `None`: the minimum of the edge
    * @param passes output columns whose rows come out no later than the active watermark allows
    * @param carried output columns whose old values may come out of the state later
    */
  final case class Stateful(
      label: String,
      id: OperatorId,
      input: PlanShape,
      active: Option[ColumnId],
      passes: Seq[ColumnId],
      carried: Seq[ColumnId])
      extends PlanShape {
    def inputs: Seq[PlanShape] = Seq(input)
  }

  /** A stream-stream join; each side is filtered by its own column and evicted by its own bound. */
  final case class Join(label: String, id: OperatorId, left: JoinSide, right: JoinSide) extends PlanShape {
    def inputs: Seq[PlanShape] = Seq(left.input, right.input)
    def side(side: Side): JoinSide = if (side == Side.Left) left else right
  }

  /** @param active the column that the join names (else the one declared last); rows of this side are late by it
    * @param bound how far the state of this side is evicted; `None`: never
    * @param activeOut what is known of the active column when it leaves the join
    * @param carried event-time columns of this side that come out with the age of the state
    * @param comesOut whether this side's columns are in the output at all (not so for the right of a left semi join)
    * @param follows whether it goes as far as the other side while it is idle; else it is waited for
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

    /** No further than the state of its side is closed. */
    case object Bounded extends ActiveOut

    /** The state is never closed by this column; as in Spark the missing bound is left out, and rows of any age may come out. */
    case object Unbounded extends ActiveOut

    /** The state is never closed by this column, so nothing is promised downstream. */
    case object Withheld extends ActiveOut
  }

  /** State is evicted up to the watermark of `column`, an input column of the join's `of` side, moved by `offsetMillis`. */
  final case class Bound(of: Side, column: ColumnId, offsetMillis: Long)

  /** A new event-time column whose watermark is that of the operator below (`transformWithState`). */
  final case class Declared(label: String, column: ColumnId, input: PlanShape) extends PlanShape {
    def inputs: Seq[PlanShape] = Seq(input)
  }

  /** A node out of which columns come that bear Spark's mark, and of which nothing else is known, as of a Python map: they
    * are as far as all that flows in.
    *
    * @param id its number among the unions, whose floors it shares; those of marks are apart, so that unions keep theirs
    * @param columns the columns that only bear the mark
    * @param passes the columns that are known, and go through
    */
  final case class Marked(label: String, id: Int, columns: Seq[ColumnId], passes: Seq[ColumnId], input: PlanShape)
      extends PlanShape {
    def inputs: Seq[PlanShape] = Seq(input)
  }

  /** The watermark that an event-time column bears, wherever it has come from: that of the first input at a union, whose
    * column it is, and that of the operator's own column where an operator begins a new one. It says nothing of who holds
    * that watermark back.
    */
  def originOf(shape: PlanShape, column: ColumnId): Option[OriginName] = shape match {
    case _: Source => None
    case origin: Origin if origin.column == column => Some(origin.name)
    case stateless: Stateless =>
      stateless.columns.collectFirst { case (`column`, from) => from }.flatMap { from =>
        stateless.inputs.iterator.flatMap(originOf(_, from)).nextOption()
      }
    case union: Union =>
      for {
        at <- union.columns.find(_.out == column)
        (input, from) <- union.inputs.zip(at.inputs).collectFirst { case (input, Some(from)) => input -> from }
        name <- originOf(input, from)
      } yield name
    case declared: Declared if declared.column == column => judgedBy(declared.input, Side.Left)
    case other => other.inputs.iterator.flatMap(originOf(_, column)).nextOption()
  }

  /** The watermark by which rows of an operator's input are judged: that of the column it goes by, or the only one there
    * is; `None` if it goes by no column, or by one of which it is not known what it comes from.
    */
  def judgedBy(operator: PlanShape, side: Side): Option[OriginName] = {
    val (input, active) = operator match {
      case stateful: Stateful => (stateful.input, stateful.active)
      case join: Join => (join.side(side).input, join.side(side).active)
      case other => (other, None)
    }
    active.flatMap { column =>
      def origins = postOrder(input).collect { case origin: Origin => origin.name }.distinct
      originOf(input, column).orElse(Some(origins).collect { case Seq(only) => only })
    }
  }

  /** All nodes, inputs before the nodes that read them. */
  def postOrder(shape: PlanShape): Seq[PlanShape] = shape.inputs.flatMap(postOrder) :+ shape
}
