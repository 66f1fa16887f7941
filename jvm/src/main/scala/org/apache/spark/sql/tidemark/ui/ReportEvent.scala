package org.apache.spark.sql.tidemark.ui

import com.fasterxml.jackson.annotation.{JsonCreator, JsonIgnoreProperties, JsonProperty}

import org.apache.spark.scheduler.SparkListenerEvent

/** A report in Spark's event log.
  *
  * An event that cannot be read makes the History Server fail on its whole application. So a field is text, a number or a flag,
  * the report is one text, each field says its name, and more fields are ignored. A reader without this class skips the event.
  *
  * @param version of the event; a reader skips those that are newer than its own
  * @param timeMillis when the report was made
  */
@JsonIgnoreProperties(ignoreUnknown = true)
final case class ReportEvent @JsonCreator() (
    @JsonProperty("version") version: Int,
    @JsonProperty("queryId") queryId: String,
    @JsonProperty("runId") runId: String,
    @JsonProperty("timeMillis") timeMillis: Long,
    @JsonProperty("hasEnded") hasEnded: Boolean,
    @JsonProperty("report") report: String)
    extends SparkListenerEvent

object ReportEvent {
  val Version: Int = 1
}
