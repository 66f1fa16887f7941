package org.apache.spark.sql.tidemark.ui

import java.util.UUID

import org.apache.spark.sql.tidemark.status.RunReport
import org.apache.spark.status.KVUtils.KVIndexParam

/** The last report of a run in the store of the History Server, which may be a file: all of it is text or a number.
  * @param timeMillis when it was made
  */
private[ui] final class LoggedReport(
    @KVIndexParam val runId: String,
    val queryId: String,
    val timeMillis: Long,
    val hasEnded: Boolean,
    val json: String) {
  def read: RunReport = RunReport(UUID.fromString(queryId), UUID.fromString(runId), hasEnded, json, Some(timeMillis))
}
