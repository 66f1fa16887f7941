package org.apache.spark.sql.tidemark.view

import io.tidemark.core.why.Words

/** What a report's text says of an input whose clocks are the marks of its writers. */
private[view] final class WriterText(say: Say) {

  /** How many writers there are, the time window, and how old what is known of the log is. */
  def counts(input: Fields, splits: Fields): Seq[String] = {
    val noted = input.at("noted")
    val ended = noted.count("ended")
    val kinds = Seq(
      splits.count("active") -> "active",
      (splits.count("idle") - ended) -> "idle",
      splits.count("catching_up") -> "catching up",
      ended -> "ended",
      splits.count("without_clock") -> "without a time yet")
    val total = splits.count("total")
    if (total == 0) Seq("no writer has noted yet")
    else
      Seq(s"noted by ${Words.counted(total, "writer")}${InputText.named(kinds)}", window(noted)) ++
        noted.long("log_read_ms").map(at => s"log read ${say.time(Some(at))}")
  }

  private def window(noted: Fields): String = (noted.long("lower_ms"), noted.long("upper_ms")) match {
    case (None, None) => "no time window yet"
    case (None, upper) => s"time window up to ${say.time(upper)}"
    case (lower, None) => s"time window from ${say.time(lower)}, without an end: a writer has noted nothing later"
    case (lower, upper) => s"time window ${say.time(lower)} to ${say.time(upper)}"
  }

  /** How far a writer is, on the line that names it. */
  def standing(input: Fields, writer: Fields): Seq[String] = {
    val delay = input.long("delay_ms").getOrElse(0L)
    val noted = writer.long("clock_ms").fold("nothing noted yet")(clock => s"noted ${say.time(Some(clock + delay))}")
    noted +: Option.when(writer.flag("has_ended"))("ended").toSeq
  }

  /** What its next mark waits for, and what its last one was: a line for each. */
  def marks(writer: Fields): Seq[String] = {
    val next = writer.at("next")
    val last = writer.at("mark")
    def at(fields: Fields, name: String, before: String, after: String = "") =
      fields.long(name).map(time => s"$before ${say.time(Some(time))}$after")
    ahead(next).toSeq ++
      at(next, "far_ahead_ms", "it has noted", ", too far ahead to be believed") ++
      at(writer, "holds_since_ms", "no later time passed since") ++
      last.long("number").map(number => s"last mark: number $number in life ${last.count("epoch")}") ++
      at(last, "last_news_ms", "last mark with news written")
  }

  private def ahead(next: Fields): Option[String] =
    if (next.flag("is_broken")) Some("marks before its next one are missing")
    else if (next.flag("is_damaged")) Some("its newest lines cannot be read")
    else next.text("waits_for") match {
      case Some(what) =>
        val at = next.long("at").fold("")(place => s" at $place")
        val read = next.long("read").fold("")(place => s" (read: $place)")
        Some(s"next mark waits for $what$at$read${next.text("why").fold("")(why => s", $why")}")
      case None => next.long("time_ms").map(time => s"next mark notes ${say.time(Some(time))}")
    }

  /** Rows that broke a promise, and lines of the log that cannot be used. */
  def problems(noted: Fields): Seq[String] = {
    val broken = noted.at("promises_broken")
    val promises = broken.long("rows").filter(_ > 0).map { rows =>
      val were = s"${Words.counted(rows, "row")} ${if (rows == 1) "was" else "were"} late by what writers had noted"
      s"promises broken: $were, by at most ${Words.atLeast(broken.count("most_ms"))}"
    }
    val skipped = noted.at("skipped_lines").counts.map { case (reason, count) => s"${Words.grouped(count)} $reason" }
    promises.toSeq ++
      Option.when(skipped.nonEmpty)(s"lines of the mark log that cannot be used: ${skipped.mkString(", ")}")
  }
}
