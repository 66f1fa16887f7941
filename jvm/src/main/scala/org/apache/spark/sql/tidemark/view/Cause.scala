package org.apache.spark.sql.tidemark.view

/** The input that a report's sentence is about, and what it does there. */
private[view] final case class Cause(key: String, kind: Cause.Kind)

private[view] object Cause {

  /** @param word what is said of the input where its watermark is drawn */
  sealed abstract class Kind(val word: String)

  /** Results wait for it, on the whole way from it to the sink. */
  case object Holds extends Kind("holds")

  /** Its watermark is beyond its rows, which are late. Nothing waits for it. */
  case object Ahead extends Kind("ahead")

  /** A clock of it is far ahead, and its watermark need not be yet. */
  case object ClockAhead extends Kind("a clock is far ahead")

  /** The codes of the sentences in which an input is named, but holds nothing. */
  val others: Map[String, Kind] =
    Map("FAR_AHEAD" -> Ahead, "ALL_LATE" -> Ahead, "SOME_LATE" -> Ahead, "CLOCK_FAR_AHEAD" -> ClockAhead)

  /** `None` if the sentence is about no input. */
  def of(report: Fields): Option[Cause] = {
    val why = report.at("why")
    why.text("held_by").map(key => Cause(key, why.text("code").flatMap(others.get).getOrElse(Holds)))
  }
}
