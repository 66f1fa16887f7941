package org.apache.spark.sql.tidemark.view

import java.util.Locale.ROOT

import io.tidemark.core.why.Words

/** What a report's text says of asynchronous calls. */
private[view] object CallText {
  private val Kinds = Seq(
    ("retries", "retry", "retries"),
    ("failed", "failed", "failed"),
    ("timed_out", "time-out", "time-outs"),
    ("defaulted", "row with a default", "rows with a default"))

  def lines(columns: Seq[Fields]): Seq[String] = Say.titled("calls", columns.flatMap(lines))

  private def lines(column: Fields): Seq[String] = {
    val last = column.at("last")
    val name = Say.name(column.text("column").getOrElse("?"))
    val counted = s"  $name: ${counts(last)} in the last batch, ${counts(column.at("all"))} so far"
    counted +: last.double("slowest_ms").toSeq.flatMap { slowest =>
      val inFlight = last.long("most_in_flight").fold("?")(_.toString)
      // Without the inputs, if the calls were made with `show_inputs=False`.
      val inputs = last.text("slowest").filter(_.nonEmpty).fold("")(text => s": $text")
      Seq(
        s"    half within ${millis(last.double("p50_ms"))}, 99 % within ${millis(last.double("p99_ms"))}, " +
          s"at most $inFlight in flight in a task",
        s"    the slowest took ${millis(Some(slowest))}$inputs")
    }
  }

  private def counts(calls: Fields): String = {
    val others = Kinds.flatMap { case (field, one, several) =>
      calls.long(field).filter(_ > 0).map(n => s"${Words.grouped(n)} ${if (n == 1) one else several}")
    }
    Words.counted(calls.count("calls"), "call") + (if (others.isEmpty) "" else others.mkString(" (", ", ", ")"))
  }

  private def millis(of: Option[Double]): String = of match {
    case None => "?"
    case Some(few) if few < 100 => "%.1f ms".formatLocal(ROOT, few)
    case Some(many) => "%,.0f ms".formatLocal(ROOT, many)
  }
}
