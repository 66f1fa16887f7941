package org.apache.spark.sql.tidemark.planning

import io.tidemark.core.{ColumnId, OriginName}
import io.tidemark.core.plan.PlanShape

/** The watermark that an expression in a plan reads. */
private[tidemark] sealed trait WatermarkTarget

private[tidemark] object WatermarkTarget {
  sealed trait Single extends WatermarkTarget {

    /** Whose rows have this watermark; `None` for those that a stateful operator or a union has emitted. */
    def origin: Option[OriginName]
  }

  final case class Origin(name: OriginName) extends Single {
    override def origin: Option[OriginName] = Some(name)
  }

  /** The watermark of a column in the output of that part of the plan. */
  final case class Column(from: PlanShape, column: ColumnId) extends Single {
    override def origin: Option[OriginName] = ownOriginOf(from, column)
  }

  /** The time window of a batch.
    * @param origin as for a single watermark
    */
  final case class Window(lower: Single, origin: Option[OriginName]) extends WatermarkTarget

  /** Unlike `PlanShape.originOf`, this does not go through unions and operators with state. */
  private def ownOriginOf(plan: PlanShape, column: ColumnId): Option[OriginName] = plan match {
    case PlanShape.Origin(_, name, declared, input) =>
      if (declared == column) Some(name) else ownOriginOf(input, column)
    case PlanShape.Stateless(_, Seq(input), columns) =>
      columns.collect { case (out, from) if out == column => ownOriginOf(input, from) } match {
        case Seq(origin) => origin
        case _ => None
      }
    case _ => None
  }
}
