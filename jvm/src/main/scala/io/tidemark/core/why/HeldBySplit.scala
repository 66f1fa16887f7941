package io.tidemark.core.why

import io.tidemark.core.OriginName
import io.tidemark.core.noted.TopicLocation

/** One split of an input, or one writer, is behind the others, and results wait for it. Times are ms since the epoch.
  *
  * @param behindMillis how far it is behind the split that is furthest ahead; `None` if it has no clock yet
  * @param notedIn the mark log, if the split is a writer
  * @param seenOnce how many splits the input has, if nearly every one has rows in one batch and never again
  */
final case class HeldBySplit(
    operator: Verdict.Operator,
    origin: OriginName,
    split: Situation.Split,
    behindMillis: Option[Long],
    nowMillis: Long,
    notedIn: Option[String],
    seenOnce: Option[Int] = None,
    countsSilence: Boolean = true,
    override val resumes: Option[NextResult] = None)
    extends InputVerdict("HELD_BY_SPLIT", isTrouble = !HeldBySplit.catchesUp(split, notedIn.nonEmpty)) {
  import HeldBySplit._
  import IdleAdvice._
  import Words.length

  private def isNoted: Boolean = notedIn.nonEmpty
  private def kind: String = if (isNoted) "writer" else "split"
  def sentence(words: Words): String = {
    val standing = (split.clockMillis, behindMillis) match {
      case (Some(clock), Some(behind)) => s"is at ${words.at(clock)}, ${length(behind)} behind the furthest"
      case _ => if (isNoted) "has noted no time yet" else "has had no row yet"
    }
    val next = split.next.fold("")(waits => s"; its next mark waits for $waits")
    val last = (split.lastActiveMillis, split.clockMillis) match {
      case (Some(at), _) if isNoted => s"The query last had news of it at ${words.at(at)}."
      case (Some(at), _) => s"It was last active at ${words.at(at)}."
      case (None, None) => "It was never active."
      case (None, Some(_)) => ""
    }
    // What a mark waits for does not end with a silence.
    val never = if (split.next.nonEmpty) "" else "It has no idle_after, so it holds forever if nothing comes."
    val idle = split.leftOut.fold(never)(
      silence("It", _, nowMillis, countsSilence, words, if (isNoted) "note more" else "have rows"))
    val live =
      if (catchesUp(split, isNoted))
        "It had rows in the last batch that read any, so results come out as it catches up."
      else last
    val held = s"${operator.waitsFor(input(words))}, whose $kind ${words.name(split.name)} $standing$next."
    (Seq(held, live, idle) ++ resumes.map(_.sentence(operator, words)) ++ seenOnce.map(SeenOnce.sentence))
      .filter(_.nonEmpty).mkString(" ")
  }
  override def fix(words: Words): Option[String] = (seenOnce, split.leftOut) match {
    case (Some(_), _) => Some(SeenOnce.fix(input(words)))
    case (None, _) if split.next.nonEmpty => None
    case (None, None) => Some(withoutIdleTime(words))
    case (None, Some(_)) =>
      Option.unless(countsSilence || catchesUp(split, isNoted))(CountDowntime)
  }

  private def withoutIdleTime(words: Words): String = notedIn match {
    case Some(log) =>
      s"starting writer ${words.name(split.name)} again, by ${ending(log, split.name)} if it is gone for " +
        s"good, or by setting idle_after on ${input(words)}${alsoCounting(countsSilence)} if a writer that notes nothing " +
        "sends no rows either"
    case None =>
      val idle =
        s"setting idle_after on ${input(words)}, longer than any pause of a split that will have rows again" +
          (if (countsSilence) "" else "," + alsoCounting(countsSilence))
      if (catchesUp(split, isNoted)) s"letting it catch up, or, if it may become silent, by $idle"
      else idle
  }
}

object HeldBySplit {

  /** Whether a split that is behind has rows: then results come out as it advances. A writer's rows say nothing of its marks. */
  private def catchesUp(split: Situation.Split, isNoted: Boolean): Boolean =
    split.isLive && split.clockMillis.nonEmpty && !isNoted

  private val OtherStore = "(?!file:)[A-Za-z][A-Za-z0-9+.-]+:.*".r

  /** The call that ends a writer. A log in Kafka needs settings that only the user knows, and in an object store Python does
    * not write.
    */
  private def ending(log: String, writer: String): String = {
    def call(settings: String) =
      s"tidemark.marks.Marks(${Words.quoted(log)}$settings).writer(${Words.quoted(writer)}).end()"
    if (TopicLocation.isTopic(log)) call(", options=settings")
    else if (OtherStore.matches(log)) "ending it"
    else call("")
  }
}
