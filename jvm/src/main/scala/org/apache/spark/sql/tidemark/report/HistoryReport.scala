package org.apache.spark.sql.tidemark.report

import io.tidemark.core.history.{History, Moment}

/** What the watermarks of a run have been, as plain data: a list for each number, all of the same length. */
private[tidemark] object HistoryReport {
  import Json.{list, obj}

  def json(history: History): AnyRef = {
    val moments = history.moments
    def column(number: Moment => Any): AnyRef = list(moments.map(moment => number(moment).asInstanceOf[AnyRef]))
    val inputs = history.names.zipWithIndex.map { case (name, at) =>
      obj(
        "key" -> name.toString,
        "watermark_ms" -> column(_.input(at).watermarkMillis.map(Long.box).orNull),
        "max_event_time_ms" -> column(_.input(at).maxEventTimeMillis.map(Long.box).orNull),
        "active" -> column(_.input(at).active),
        "idle" -> column(_.input(at).idle))
    }
    obj(
      "batches" -> history.batches,
      "batch" -> column(_.batch),
      "time_ms" -> column(_.timeMillis),
      "late_rows" -> column(_.lateRows),
      "state_rows" -> column(_.stateRows),
      "inputs" -> list(inputs),
      "inputs_left_out" -> history.leftOut)
  }
}
