package org.apache.spark.sql.tidemark.view

import io.tidemark.core.why.Words

/** The inputs of a report as text. Below an input hang its splits, and what counts as silence there. */
private[view] final class InputText(say: Say) {
  private val writers = new WriterText(say)

  def lines(inputs: Seq[Fields]): Seq[String] = Say.titled("inputs", inputs.flatMap(lines))

  private def lines(input: Fields): Seq[String] = {
    val parts = Seq(
      Some(Say.label(input.text("key"), input.text("column"))),
      Some(s"watermark ${say.time(input.long("watermark_ms"))}"),
      input.long("delay_ms").map(delay => s"delay ${Words.exact(delay)}"),
      Some(s"largest event time ${say.time(input.long("max_event_time_ms"))}"))
    s"  ${parts.flatten.mkString(", ")}" +: details(input).map(line => s"    $line")
  }

  private def details(input: Fields): Seq[String] = {
    val splits = input.at("splits")
    val isSplit = input.texts("split_by").nonEmpty
    val counts =
      if (Inputs.isNoted(input) && input.has("splits")) writers.counts(input, splits)
      else if (isSplit && input.has("splits")) Seq(this.counts(splits))
      else Nil
    val standing =
      if (isSplit) holders(input, splits) ++ idleOnes(input, splits)
      // One clock for the whole input: its watermark is in the line above, its name says nothing.
      else waitedFor(input, splits).take(1).map(silence(input, _, countsAlone = true).mkString(", "))
    options(input).toSeq ++ counts ++ ofWholeInput(input) ++ standing ++ farAhead(input) ++
      writers.problems(input.at("noted"))
  }

  /** By the names under which the user gave them. */
  private def options(input: Fields): Option[String] = {
    val expressions = input.texts("split_by").map(Say.name)
    val by = expressions match {
      case _ if Inputs.isNoted(input) => Some(s"noted in ${input.at("noted").text("location").getOrElse("?")}")
      case Seq() => None
      case Seq(one) => Some(s"split_by $one")
      case several => Some(s"split_by (${several.mkString(", ")})")
    }
    // The two after it mean nothing where nothing becomes idle.
    val idle = input.long("idle_after_ms").toSeq.flatMap { after =>
      s"idle_after ${Words.exact(after)}" +:
        Seq("on_return", "when_all").flatMap(name => input.text(name).map(value => s"$name $value"))
    }
    def length(name: String) = input.long(s"${name}_ms").map(value => s"$name ${Words.exact(value)}")
    val all = by.toSeq ++ idle ++ length("forget_after") ++ length("max_ahead")
    Option.when(all.nonEmpty)(all.mkString(", "))
  }

  private def counts(splits: Fields): String = {
    val withoutRows = splits.count("without_rows")
    val kinds = Seq(
      (splits.count("active") - withoutRows) -> "active",
      splits.count("idle") -> "idle",
      splits.count("catching_up") -> "catching up",
      withoutRows -> "without a row yet")
    Words.counted(splits.count("total"), "split") + InputText.named(kinds)
  }

  private def ofWholeInput(input: Fields): Option[String] =
    if (input.flag("idle")) {
      val goesOn =
        if (input.text("when_all").contains("advance")) "its watermark follows the wall clock"
        else "its watermark stops"
      Some(s"idle as a whole, as no rows arrive: $goesOn until the next row")
    } else
      Option.when(input.flag("waiting") && input.has("idle_after_ms"))(
        "rows may be waiting to be read, and no split becomes idle until they are read")

  private def holders(input: Fields, splits: Fields): Seq[String] = {
    // A single split holds no other one, and neither does a split that is not behind.
    val several = splits.count("total") > 1
    val waited = waitedFor(input, splits).zipWithIndex.flatMap { case (split, place) =>
      val holds = several && !split.long("behind_ms").contains(0L)
      val lead = if (!holds) "" else if (place == 0) "held back by " else "then "
      if (holds || place == 0) standing(lead, input, split) else Nil
    }
    waited ++ splits.list("worst").filter(isLeftOut(input, _)).flatMap(standing("left out: ", input, _))
  }

  /** The splits the minimum is taken over, furthest behind first. */
  private def waitedFor(input: Fields, splits: Fields): Seq[Fields] =
    splits.list("worst").filter(split => !split.text("state").contains("idle") && !isLeftOut(input, split))

  private def isLeftOut(input: Fields, split: Fields): Boolean =
    split.text("state").contains("catching_up") && input.text("on_return").contains("catch_up")

  private def idleOnes(input: Fields, splits: Fields): Seq[String] = {
    val named = splits.list("idle_ones")
    val more = splits.count("idle") - named.size
    named.flatMap(standing("idle: ", input, _)) ++
      Option.when(named.nonEmpty && more > 0)(s"and ${Words.grouped(more)} more ${if (more == 1) "is" else "are"} idle")
  }

  /** A split on one line. A writer has more to say, and each other time below its name. */
  private def standing(lead: String, input: Fields, split: Fields): Seq[String] = {
    val name = split.text("name").fold("null")(say.quoted)
    val behind = split.long("behind_ms").filter(_ != 0).map(by => s"${Words.length(by)} behind")
    val catchingUp = Option.when(split.text("state").contains("catching_up"))("catching up")
    // Its silence counts while others have rows.
    val silent = silence(input, split, countsAlone = !input.text("when_all").contains("hold"))
    if (Inputs.isNoted(input)) {
      val parts = s"writer $name" +: (writers.standing(input, split) ++ behind ++ catchingUp)
      s"$lead${parts.mkString(", ")}" +: (writers.marks(split) ++ silent).map(line => s"  $line")
    } else {
      val expected = if (split.flag("is_expected")) "expected, " else ""
      val clock = split.long("clock_ms").fold(s"${expected}has never had a row")(at => s"clock ${say.time(Some(at))}")
      Seq(s"$lead${(Seq(s"split $name", clock) ++ behind ++ catchingUp ++ silent).mkString(", ")}")
    }
  }

  private def silence(input: Fields, split: Fields, countsAlone: Boolean): Seq[String] = {
    val isNoted = Inputs.isNoted(input)
    val last =
      split.long("last_active_ms").map(at => s"${if (isNoted) "last active" else "last row"} ${say.time(Some(at))}")
    // The only clock of an input is always the one that had rows last.
    val silent = if (input.texts("split_by").nonEmpty && !isNoted) silentFor(split) else None
    val leftOut = split.long("idle_at_ms").map { at =>
      val whileOthers = if (countsAlone) "" else s" and another ${Inputs.noun(input)} does not"
      s"left out at ${say.time(Some(at))} if it stays silent$whileOthers"
    }
    last.toSeq ++ silent ++ leftOut
  }

  /** How much of the time since its last row counts: downtime and pauses may not. */
  private def silentFor(split: Fields): Option[String] = {
    val silent = split.long("silent_ms").getOrElse(0L)
    split.long("silent_of_ms").filter(_ > silent) match {
      case Some(all) => Some(s"silent for ${Words.length(silent)} of ${Words.length(all)} (the rest does not count)")
      case None => Option.when(silent > 0)(s"silent for ${Words.length(silent)}")
    }
  }

  private def farAhead(input: Fields): Option[String] = input.long("far_ahead_rows").filter(_ > 0).map { rows =>
    s"${Words.counted(rows, "row")} too far ahead of the wall clock did not move the watermark"
  }
}

private[view] object InputText {

  /** How many there are of each kind, after a colon; nothing if there are none. */
  def named(kinds: Seq[(Long, String)]): String = {
    val shown = kinds.collect { case (count, kind) if count > 0 => s"${Words.grouped(count)} $kind" }
    if (shown.isEmpty) "" else shown.mkString(": ", ", ", "")
  }
}
