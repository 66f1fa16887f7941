package org.apache.spark.sql.tidemark.view

import scala.xml.Elem

/** A table of queries, each with the sentence of its report and a link. */
private[tidemark] object ReportList {

  /** @param link where the report is
    * @param status whether the run has ended
    * @param json what `tidemark_report` returns
    */
  final case class Row(link: String, status: String, json: String)

  private val Cell = "padding:4px 12px 4px 0;text-align:left;vertical-align:top"
  private val Heads = Seq("Query", "Status", "Batch", "Furthest behind", "Why", "Late rows")

  def table(rows: Seq[Row]): Elem =
    if (rows.isEmpty) <p>No query with a watermark runs, or has run here.</p>
    else
      <table style="border-collapse:collapse">
        <tbody>
          <tr>{Heads.map(head => <th style={Cell}>{head}</th>)}</tr>
          {rows.map(row)}
        </tbody>
      </table>

  private def row(of: Row): Elem = {
    val report =
      try Fields.read(of.json)
      catch { case _: IllegalArgumentException => Fields.none }
    val query = report.at("query")
    val name = query.text("name").orElse(query.text("id")).getOrElse("?")
    val why = report.at("why")
    val text = why.text("sentence").orElse(report.text("reason")).getOrElse("")
    val sentence = Say.sentence(text)
    val late = Operators.all(report.at("plan")).flatMap(_.long("late_rows")).sum
    <tr>
      <td style={Cell}><a href={of.link}>{Say.name(name)}</a></td>
      <td style={Cell}>{of.status}</td>
      <td style={Cell}>{report.long("batch").fold("")(Say.grouped)}</td>
      <td style={Cell}>{furthestBehind(report)}</td>
      <td style={Cell}>{if (why.flag("is_trouble")) <b style={s"color:${Svg.Alarm}"}>{sentence}</b> else sentence}</td>
      <td style={Cell}>{Say.grouped(late)}</td>
    </tr>
  }

  /** The input with the least watermark, and how far that is behind the largest event time of all inputs. Without a watermark,
    * an input is behind all others.
    */
  private def furthestBehind(report: Fields): String = {
    val inputs = report.list("inputs")
    def name(input: Fields) = Say.name(input.text("key").getOrElse("?"))
    val undefined = inputs.find(input => input.long("watermark_ms").isEmpty && !input.flag("idle"))
    val furthest = for {
      newest <- inputs.flatMap(_.long("max_event_time_ms")).maxOption
      (reached, of) <- inputs.flatMap(input => input.long("watermark_ms").map(_ -> input)).minByOption(_._1)
    } yield s"${name(of)}, ${Say.length(math.max(0L, newest - reached))}"
    undefined.map(input => s"${name(input)}, no watermark yet").orElse(furthest).getOrElse("")
  }
}
