package org.apache.spark.sql.tidemark.columns

/** An event-time column on an edge of a plan.
  *
  * @param delayMillis the delay of its watermark (ms), as in Spark's mark
  * @param declared the position of its watermark among those of the plan, from 1; 0 if unknown
  * @param marked whether only Spark's mark is known of it; its watermark is then the minimum of the edge
  * @param isInside whether the time is inside the column's values, as in `struct(t)`. No operator uses such a column
  *   and it is never late, but a time that is taken out of it is as old as its watermark says
  * @param isStatic whether the mark is that of a static table
  */
private[tidemark] final case class EventTimeColumn(
    delayMillis: Long,
    declared: Int,
    marked: Boolean = false,
    isInside: Boolean = false,
    isStatic: Boolean = false)
