package io.tidemark.core.why

import io.tidemark.core.{ColumnId, Input, OriginName}
import io.tidemark.core.plan.{PlanShape, Waits}

/** An input of an operator with state, and what it waits for.
  *
  * @param input that which it is
  * @param operator the operator's name, as reports have it
  * @param side `left` or `right` of a join
  * @param column the event-time column by which rows are late there; `None` if there is none
  */
final case class PlanInput(input: Input, operator: String, side: Option[String], column: Option[String], waits: Waits)

object PlanInput {

  /** @param names the columns' names */
  def of(shape: PlanShape, names: Map[ColumnId, String]): Seq[PlanInput] = {
    val waits = Waits.of(shape)
    Waits.inputs(shape).map { case (operator, input) =>
      val column = operator match {
        case stateful: PlanShape.Stateful => stateful.active.filter(_ => stateful.dropsLate)
        case join: PlanShape.Join => join.side(input.side).active
        case _ => None
      }
      val side = Option.when(operator.isInstanceOf[PlanShape.Join])(input.side.name)
      val found = waits.getOrElse(input, Waits(Nil, None, Nil, None))
      PlanInput(input, nameOf(operator, input), side, column.flatMap(names.get), found)
    }
  }

  def nameOf(operator: PlanShape, input: Input): String = s"${operator.label} #${input.operator.value}"
}

/** What `explain` prints of a plan. */
object PlanText {

  def of(inputs: Seq[PlanInput], findings: Seq[Finding], words: Words): String = {
    val operators = if (inputs.isEmpty) Seq("  none with state") else table(inputs.map(row(_, words)))
    (head(findings) +: "operators" +: operators) ++ findings.flatMap(lines)
  }.mkString("\n")

  private def head(findings: Seq[Finding]): String = {
    val counts = Severity.all.flatMap { severity =>
      val count = findings.count(_.severity == severity)
      Option.when(count > 0)(if (severity == Severity.Info) s"$count for information"
      else Words.counted(count.toLong, severity.name))
    }
    val starts = if (findings.exists(_.severity == Severity.Error)) " This query would not start." else ""
    s"${if (counts.isEmpty) "No findings" else counts.mkString(", ")}.$starts"
  }

  private def row(input: PlanInput, words: Words): Seq[String] = Seq(
    (Seq(input.operator) ++ input.side).mkString(" "),
    input.column.fold("late by no event time")(column => s"late by ${words.name(column)}"),
    waiting(input.waits, words))

  private def waiting(waits: Waits, words: Words): String = waits.evicted match {
    case None => "keeps its state forever"
    case Some(evicted) =>
      val after = waits.afterMillis.filter(_ != 0).fold("")(gap(_))
      val idle = if (waits.evenIdle.isEmpty || waits.all.size < 2) ""
      else s"; even while idle: ${list(waits.evenIdle, words)}"
      s"${waitsFor(evicted, words)}$after$idle"
  }

  private def gap(millis: Long): String =
    s" to be ${Words.length(millis)} ${if (millis > 0) "past a row" else "before a row"}"

  private def waitsFor(origins: Seq[OriginName], words: Words): String =
    if (origins.isEmpty) "waits for nothing" else s"waits for ${list(origins, words)}"

  private def list(origins: Seq[OriginName], words: Words): String =
    origins.map(origin => words.name(origin.toString)).mkString(", ")

  private def table(rows: Seq[Seq[String]]): Seq[String] = {
    val widths = rows.transpose.map(_.map(_.length).max)
    rows.map { row =>
      "  " + row.zip(widths).map { case (cell, width) => cell.padTo(width, ' ') }.mkString("  ").stripTrailing
    }
  }

  private def lines(finding: Finding): Seq[String] = Seq(
    s"${finding.severity.name.padTo(8, ' ')}${finding.code}",
    s"        ${finding.sentence}",
    s"        Fix this by ${finding.fix}.")
}
