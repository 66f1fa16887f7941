package org.apache.spark.sql.tidemark.report

import java.util.UUID

import scala.util.Try

import org.apache.spark.sql.catalyst.expressions.{Expression, Literal}
import org.apache.spark.sql.tidemark.query.RunningQueries
import org.apache.spark.sql.tidemark.session.SqlFunctions
import org.apache.spark.sql.tidemark.view.ReportPage
import org.apache.spark.sql.types.StringType

/** `tidemark_report(id)`: JSON about a query of this application, by its id or its run's id, with the report as text and as a
  * part of a page. Null for what is not an id.
  */
object ReportFunction {
  private val name = "tidemark_report"

  val description: SqlFunctions.Description =
    SqlFunctions.described(getClass, name, "(id) - the watermarks of a streaming query, as JSON") { arguments =>
      val id = arguments.headOption.filter(_.foldable).flatMap(a => Option(a.eval())).map(_.toString)
      val report = id.flatMap(text => Try(UUID.fromString(text)).toOption).map { query =>
        ReportPage.rendered(RunningQueries.report(query, Report.json).getOrElse(Report.unknown(query)))
      }
      report.fold[Expression](Literal(null, StringType))(SqlFunctions.text)
    }
}
