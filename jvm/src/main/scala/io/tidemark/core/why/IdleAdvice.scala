package io.tidemark.core.why

/** What sentences say of idle times, and how they advise to set one. An input's name is as the sentence writes it. */
private[why] object IdleAdvice {
  import Situation.LeftOut

  /** What is said of an input or a split that has an idle time.
    * @param subject its name
    * @param nowMillis the wall clock: a time that has passed takes effect in a later batch
    * @param othersDo what shows that others are not silent
    */
  def silence(
      subject: String,
      leftOut: LeftOut,
      nowMillis: Long,
      countsSilence: Boolean,
      words: Words,
      othersDo: String = "have rows"): String = {
    val others = if (leftOut.whileOthers) s" and others $othersDo until then" else ""
    if (!countsSilence)
      "Silence counts neither in this run, which reads what had arrived at its start, nor between runs."
    else if (leftOut.fromMillis > nowMillis)
      s"$subject is left out from ${words.at(leftOut.fromMillis)} on if it stays silent$others."
    else s"$subject is left out in a later batch if it stays silent$others."
  }

  /** What makes silence count in a query that runs now and then. */
  val CountDowntime =
    "setting spark.tidemark.downtimeIsSilence to true, if a source without rows was silent between the runs"

  /** What lets an operator go on without a silent input.
    * @param atJoin whether a join waits for the input even while it is idle
    * @param afterMillis its idle time, if it has one
    * @param completed adds when to set the option
    */
  def withoutInput(input: String, atJoin: Boolean, afterMillis: Option[Long], countsSilence: Boolean)(
      completed: String => String): Option[String] =
    if (atJoin || afterMillis.isEmpty) Some(completed(settingIdle(input, atJoin, afterMillis, countsSilence)))
    else Option.unless(countsSilence)(CountDowntime)

  /** An idle time that suits no query in particular. */
  def settingExample(more: String, inputs: String, countsSilence: Boolean): String =
    s"setting ${idle(ExampleMillis, more)} on $inputs${alsoCounting(countsSilence)}"

  def settingIdle(
      input: String,
      atJoin: Boolean,
      afterMillis: Option[Long] = None,
      countsSilence: Boolean = true): String = {
    val option = if (atJoin) idle(afterMillis.orElse(ExampleMillis), "at_join=\"follow\"") else "idle_after"
    s"setting $option on $input${alsoCounting(countsSilence)}"
  }

  def alsoCounting(countsSilence: Boolean): String =
    if (countsSilence) "" else " and spark.tidemark.downtimeIsSilence to true"

  // What at_join="follow" costs.
  val RowsMayBeLate = "its rows after a silence may be late"

  private val ExampleMillis = Some(600000L)

  /** The option with one more thing set. Writers may be idle by their word, without an idle time. */
  def idle(afterMillis: Option[Long], more: String): String = {
    val after = afterMillis.map(millis => s"after=\"${Words.interval(millis)}\"")
    s"idle=tidemark.Idle(${(after.toSeq :+ more).mkString(", ")})"
  }
}
