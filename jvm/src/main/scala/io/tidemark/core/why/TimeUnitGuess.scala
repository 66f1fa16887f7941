package io.tidemark.core.why

/** In which other unit an event time would be a time of this century: a number is easily read in a wrong one.
  *
  * @param millis the event time in that unit, ms since the epoch
  * @param wrong what was read as what
  * @param function the function of Spark's that reads the right unit
  */
final case class TimeUnitGuess(millis: Long, wrong: String, function: String) {
  def sentence(words: Words): String = s"It would be ${words.at(millis)} if $wrong."
}

object TimeUnitGuess {
  private val Day = 24 * 3600 * 1000L
  private val Begin = 946684800000L

  /** @param eventTimeMillis as it was read, ms since the epoch; @param nowMillis the wall clock */
  def of(eventTimeMillis: Long, nowMillis: Long): Option[TimeUnitGuess] = {
    def isOfNow(millis: Long) = millis >= Begin && millis <= nowMillis + Day
    if (isOfNow(eventTimeMillis)) None
    else if (isOfNow(eventTimeMillis / 1000)) Some(TimeUnitGuess(
      eventTimeMillis / 1000,
      "milliseconds were read as seconds, or microseconds as milliseconds",
      "timestamp_millis or timestamp_micros"))
    else if (eventTimeMillis < Begin && isOfNow(eventTimeMillis * 1000)) Some(TimeUnitGuess(
      eventTimeMillis * 1000,
      "seconds were read as milliseconds, or milliseconds as microseconds",
      "timestamp_seconds or timestamp_millis"))
    else None
  }
}
