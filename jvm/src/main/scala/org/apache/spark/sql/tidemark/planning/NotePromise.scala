package org.apache.spark.sql.tidemark.planning

import io.tidemark.core.plan.PlanShape

/** Whether a plan keeps the promise that what it emits later is later than a watermark at its top. */
private[planning] object NotePromise {

  /** The operator that breaks the promise, because it may emit rows of any age; `None` if there is none.
    * @param isMarked whether only the mark of the noted column is known. Then what made the column may have changed its times
    */
  def breaker(shape: PlanShape, isMarked: Boolean): Option[String] =
    (if (isMarked) markedBy(shape) else None).orElse(unbounded(shape))

  private def markedBy(shape: PlanShape): Option[String] = shape match {
    case marked: PlanShape.Marked => Some(marked.label)
    case _: PlanShape.Stateless | _: PlanShape.Union => shape.inputs.flatMap(markedBy).headOption
    case _ => None
  }

  private def unbounded(shape: PlanShape): Option[String] = shape match {
    case join: PlanShape.Join if Seq(join.left, join.right).exists(_.activeOut == PlanShape.ActiveOut.Unbounded) =>
      Some(s"${join.label} without a time range")
    case other => other.inputs.flatMap(unbounded).headOption
  }
}
