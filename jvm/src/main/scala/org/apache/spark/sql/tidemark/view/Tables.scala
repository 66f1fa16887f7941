package org.apache.spark.sql.tidemark.view

import scala.xml.{Elem, NodeSeq}

/** The numbers of the drawings as tables: to be copied, and read where a drawing is not shown. */
private[view] final class Tables(report: Fields, say: Say) {
  import Tables._

  def inputs: NodeSeq = {
    val origins = report.list("inputs")
    val heads =
      Seq("input", "event time", "watermark", "delay", "largest event time", "watermark behind it", "splits", "idle")
    table("Inputs", heads, origins.map(input), MostInputs, "input")
  }

  private def input(origin: Fields): Seq[String] = {
    val (reached, largest) = (origin.long("watermark_ms"), origin.long("max_event_time_ms"))
    Seq(
      Say.name(origin.text("key").getOrElse("?")),
      Say.name(origin.text("column").getOrElse("?")),
      say.time(reached),
      origin.long("delay_ms").fold("")(Say.length),
      say.time(largest),
      (for (at <- reached; far <- largest) yield Say.length(far - at)).getOrElse(""),
      splits(origin),
      if (origin.flag("idle")) "idle as a whole" else "")
  }

  private def splits(origin: Fields): String =
    if (!Inputs.isSplit(origin)) ""
    else {
      val all = origin.at("splits")
      val kinds = Seq("active", "idle", "catching_up").flatMap { kind =>
        all.long(kind).filter(_ > 0).map(count => s"${Say.grouped(count)} ${kind.replace('_', ' ')}")
      }
      (all.long("total").map(Say.counted(_, Inputs.noun(origin))).toSeq ++ kinds).mkString(", ")
    }

  def operators: NodeSeq = {
    val heads =
      Seq(
        "operator",
        "passes on",
        "held by",
        "late at or before",
        "state evicted up to",
        "late rows",
        "most late",
        "rows in state")
    val all = Operators.all(report.at("plan")).filter(_.has("id"))
    table("Operators", heads, all.map(operator), MostOperators, "operator")
  }

  private def operator(fields: Fields): Seq[String] = {
    val columns = fields.list("columns")
    val sides = Operators.sides(fields)
    Seq(
      Say.name(Operators.name(fields)),
      columns.take(MostColumns).map { column =>
        s"${Say.name(column.text("name").getOrElse("?"))} ${say.time(column.long("out_ms"))}"
      }.mkString(", ") + (if (columns.size > MostColumns) ", ..." else ""),
      (sides ++ columns.take(MostColumns)).flatMap(_.text("held_by")).distinct.map(Say.name).mkString(", "),
      sides.map(side => if (side.flag("never_late")) "no row" else say.time(side.long("late_ms"))).mkString(", "),
      sides.map(side => if (side.flag("keeps_forever")) "never" else say.time(side.long("eviction_ms"))).mkString(", "),
      fields.long("passed_rows").map(rows => s"${Say.grouped(rows)} passed on")
        .orElse(fields.long("late_rows").map(Say.grouped)).getOrElse(""),
      Operators.mostLate(fields).fold("")(Say.length),
      fields.long("state_rows").fold("")(Say.grouped))
  }
}

private[view] object Tables {
  private val MostInputs = 50
  private val MostOperators = 100
  private val MostColumns = 4
  private val Cell = "padding:2px 10px 2px 0;text-align:left;vertical-align:top"

  /** Its first rows, and in words how many there are more. */
  private def table(caption: String, heads: Seq[String], rows: Seq[Seq[String]], most: Int, noun: String): NodeSeq = {
    // A column in which no row says anything is not shown.
    val used = heads.indices.filter(at => rows.exists(_(at).nonEmpty))
    val more = rows.size - most
    val left: NodeSeq =
      if (more > 0) <p>{s"${Say.counted(more.toLong, noun)} more ${if (more == 1) "is" else "are"} left out."}</p>
      else NodeSeq.Empty
    if (rows.isEmpty) NodeSeq.Empty
    else body(caption, used.map(heads), rows.take(most).map(row => used.map(row))) ++ left
  }

  private def body(caption: String, heads: Seq[String], rows: Seq[Seq[String]]): Elem =
    <table style="border-collapse:collapse;margin:8px 0">
      <caption style="text-align:left;font-weight:bold">{caption}</caption>
      <tbody>
        <tr>{heads.map(head => <th style={Cell}>{head}</th>)}</tr>
        {rows.map(row => <tr>{row.map(cell => <td style={Cell}>{cell}</td>)}</tr>)}
      </tbody>
    </table>
}
