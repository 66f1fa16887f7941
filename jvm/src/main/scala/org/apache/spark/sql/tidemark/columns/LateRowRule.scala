package org.apache.spark.sql.tidemark.columns

/** A kind of stateful operator, and the node that drops its late rows.
  *
  * This is the only table of it. The optimizer's rule, the writer of a batch's watermarks and the number of dropped rows
  * follow it, and the table in `docs/late.md` is made from it. Whatever drops the rows, each late row is counted by the
  * `OperatorInputExec` below the operator.
  *
  * @param withInput the node that drops late rows if the optimizer has put an [[OperatorInput]] below the operator
  * @param withoutInput the node that drops them if it has not: then at most one event-time column comes in, with Spark's
  *   mark
  */
private[tidemark] sealed abstract class LateRowRule(
    val withInput: LateRowRule.Dropper,
    val withoutInput: LateRowRule.Dropper)

private[tidemark] object LateRowRule {

  /** The node that drops late rows. */
  sealed trait Dropper
  object Dropper {

    /** Tidemark's [[OperatorInput]], by its active column. What it drops is added to the number that Spark shows. */
    case object Input extends Dropper

    /** Spark's operator itself, by the column with Spark's mark. Spark counts what it drops. */
    case object Operator extends Dropper

    /** No row is late there. */
    case object Nothing extends Dropper
  }

  /** A stream-stream join, on each of its sides. A join without event time has no [[OperatorInput]]. */
  case object Join extends LateRowRule(Dropper.Input, Dropper.Nothing)

  /** An aggregation or a session window in append or update mode. */
  case object Aggregation extends LateRowRule(Dropper.Input, Dropper.Operator)

  /** The same in complete mode, which never evicts. The optimizer does not know the mode, the physical plan does. */
  case object CompleteAggregation extends LateRowRule(Dropper.Nothing, Dropper.Nothing)

  /** A deduplication, with or without forgetting. A row is emitted, if at all, in the batch in which it comes in. */
  case object Deduplication extends LateRowRule(Dropper.Operator, Dropper.Operator)

  /** A user's function with state, with an event-time timeout or in event-time mode. */
  case object EventTimeFunction extends LateRowRule(Dropper.Operator, Dropper.Operator)

  /** Rows that wait for the watermark, in order. */
  case object Order extends LateRowRule(Dropper.Input, Dropper.Nothing)

  /** The same if late rows do not wait, and are emitted immediately. They are counted as passed. */
  case object PassingOrder extends LateRowRule(Dropper.Nothing, Dropper.Nothing)

  /** A limit, or a user's function with state that does not use event time. */
  case object NoEventTime extends LateRowRule(Dropper.Nothing, Dropper.Nothing)

  val all: Seq[LateRowRule] =
    Seq(Join, Aggregation, CompleteAggregation, Deduplication, EventTimeFunction, Order, PassingOrder, NoEventTime)
}
