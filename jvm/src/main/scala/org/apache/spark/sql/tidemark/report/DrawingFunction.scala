package org.apache.spark.sql.tidemark.report

import io.tidemark.{TidemarkError, TidemarkException}

import org.apache.spark.sql.catalyst.expressions.{Expression, Literal}
import org.apache.spark.sql.tidemark.session.SqlFunctions
import org.apache.spark.sql.tidemark.view.ReportHtml
import org.apache.spark.sql.types.StringType

/** `tidemark_html(report)` and `tidemark_svg(report)`: a report as a part of a page, and its drawings
  * as a file.
  *
  * They draw what they are given and ask no query, so the report of a query that ended long ago is drawn as it was. A null is
  * drawn as null.
  */
object DrawingFunction {

  // Far more than any report has. What is drawn is about as large as the report at most.
  private val MostChars = 1 << 20

  val html: SqlFunctions.Description =
    drawn("tidemark_html", "(report) - a report, as tidemark_report returns it, as HTML")(ReportHtml.fragment)

  val svg: SqlFunctions.Description =
    drawn("tidemark_svg", "(report) - the plan and the history of a report, as an SVG drawing")(ReportHtml.svg)

  private def drawn(name: String, usage: String)(draw: String => String): SqlFunctions.Description =
    SqlFunctions.described(getClass, name, usage) {
      case Seq(report) if report.foldable && report.dataType == StringType =>
        Option(report.eval()).fold[Expression](Literal(null, StringType)) { json =>
          SqlFunctions.text(checked(json.toString)(draw))
        }
      case arguments =>
        throw new TidemarkException(
          TidemarkError.WrongArguments(name, "a report, as a constant text,", arguments.size))
    }

  private def checked(json: String)(draw: String => String): String = {
    if (json.length > MostChars)
      throw new TidemarkException(TidemarkError.NotAReport(s"it has more than $MostChars characters"))
    try draw(json)
    catch {
      case e: IllegalArgumentException => throw new TidemarkException(TidemarkError.NotAReport(e.getMessage), e)
    }
  }
}
