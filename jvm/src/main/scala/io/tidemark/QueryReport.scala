package io.tidemark

import com.fasterxml.jackson.databind.ObjectMapper

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.functions.{call_function, lit}

/** A snapshot of a streaming query: each operator, each event-time column, and what holds it back.
  *
  * @param text all of it, to be printed; it begins with why nothing comes out, or that all is well
  * @param json the same as data. Python's `tidemark.results.ReportData` describes the fields; `html` is it as a part of a page
  */
final case class QueryReport(text: String, json: String) {
  override def toString: String = text
}

private[tidemark] object AskedReport {

  /** By SQL, so that it works on Spark Connect too. */
  def of(session: SparkSession, id: String): QueryReport = {
    val json = session.range(1).select(call_function("tidemark_report", lit(id))).head().getString(0)
    QueryReport(new ObjectMapper().readTree(json).get("text").asText, json)
  }
}
