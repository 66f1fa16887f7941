package io.tidemark

import java.util.UUID

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions.{call_function, lit}

/** What the plan of a query shows before the query starts.
  *
  * @param text all of it, to be printed
  * @param findings the worst ones first
  */
final case class Explanation(text: String, findings: Seq[PlanFinding]) {
  override def toString: String = text
}

/** One thing that a plan shows.
  *
  * @param code a stable name; docs/explain.md lists them
  * @param severity `error`, `warning` or `info`
  * @param sentence what is the case
  * @param fix what follows "Fix this by"
  * @param column the event-time column that it is about
  * @param operator the operator that it is about
  */
final case class PlanFinding(
    code: String,
    severity: String,
    sentence: String,
    fix: String,
    column: Option[String],
    operator: Option[String])

private[tidemark] object ExplainedFrame {

  /** By SQL, so that it works on Spark Connect too. */
  def of(df: DataFrame, outputMode: String, trigger: Option[String]): Explanation = {
    val view = s"tidemark_explain_${UUID.randomUUID().toString.replace("-", "")}"
    val session = df.sparkSession
    df.createOrReplaceTempView(view)
    try {
      val arguments = Seq(view, outputMode) ++ trigger
      val asked = session.range(1).select(call_function("tidemark_explain", arguments.map(lit(_)): _*))
      read(new ObjectMapper().readTree(asked.head().getString(0)))
    } finally {
      session.catalog.dropTempView(view)
      ()
    }
  }

  private def read(json: JsonNode): Explanation =
    Explanation(json.get("text").asText, json.get("findings").elements.asScala.map(finding).toSeq)

  private def finding(json: JsonNode): PlanFinding = {
    def text(name: String) = Option(json.get(name)).filterNot(_.isNull).map(_.asText)
    def needed(name: String) = text(name).getOrElse("")
    PlanFinding(
      needed("code"),
      needed("severity"),
      needed("sentence"),
      needed("fix"),
      text("column"),
      text("operator"))
  }
}
