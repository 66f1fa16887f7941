package org.apache.spark.sql.tidemark.columns

/** An event-time column on an edge of a plan.
  *
  * @param delayMillis the delay of its watermark, as Spark's mark has it
  * @param declared the how-many-th watermark of the plan that is; 0 where that is not known
  * @param marked whether nothing is known of it but that it bears Spark's mark: its watermark is the minimum of the edge
  * @param isInside whether the time is inside its values, as in `struct(t)`: no operator goes by it, and it is never late,
  *   but when the time is taken out again it is as old as the watermark says
  */
private[tidemark] final case class EventTimeColumn(
    delayMillis: Long,
    declared: Int,
    marked: Boolean = false,
    isInside: Boolean = false)
