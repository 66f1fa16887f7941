package org.apache.spark.sql.tidemark.status

import scala.collection.mutable

import io.tidemark.core.OriginName
import io.tidemark.core.noted.WriterState
import io.tidemark.core.splits.{SplitNameTable, Splits, SplitState}
import io.tidemark.core.why.{SeenOnce, Words}

import org.apache.spark.internal.Logging
import org.apache.spark.sql.tidemark.columns.PlanOrigin

/** Logs when splits become idle, and when one comes back behind the watermark: both are how rows get lost. It also logs, once,
  * that an input is split by something that does not last. It belongs to the query's thread.
  *
  * The splits of a noted input are its writers. A writer that has ended, or has said that it may be left out, is not news.
  *
  * Finding a name scans all splits. So each input is logged once a minute at most, and what comes in between is counted.
  *
  * @param label the query's name, for messages
  */
private[tidemark] final class SplitNews(label: String, words: Words) extends Logging {
  import SplitNews._

  private val silentUntil = mutable.HashMap.empty[OriginName, Long]
  private val warned = mutable.HashSet.empty[OriginName]

  // Of each noted input the names of the writers that are idle by their silence.
  private val silentWriters = mutable.HashMap.empty[OriginName, Set[Seq[Option[String]]]]

  /** A run begins. What earlier runs have left out is not news in it.
    * @param first the query with the memory of the last batch before
    */
  def begun(first: QueryView.Planned): Unit =
    for (input <- first.origins.all if input.rules.noted.nonEmpty)
      silentWriters(input.name) = silentOnes(input, first)

  /** @param before the inputs after the batch before
    * @param nowMillis the batch's end
    */
  def after(before: Map[OriginName, QueryView.Totals], batch: QueryView.Planned, nowMillis: Long): Unit = {
    for ((name, splits) <- batch.seenOnce if warned.add(name)) {
      val input = words.name(name.toString)
      logWarning(s"$label, input $input: ${SeenOnce.sentence(splits)} Fix this by ${SeenOnce.fix(input)}.")
    }
    activity(before, batch, nowMillis)
  }

  private def activity(before: Map[OriginName, QueryView.Totals], batch: QueryView.Planned, nowMillis: Long): Unit =
    for {
      input <- batch.origins.all if input.rules.splitBy.nonEmpty && input.rules.idleAfterMillis.nonEmpty
      change <- if (input.rules.noted.isEmpty) changeOfSplits(input, before, batch) else changeOfWriters(input, batch)
      // Splits that are forgotten do not return.
      if batch.snapshot.entry.splitsOf(input.name).size >= before.get(input.name).fold(0)(_.splits)
      if silentUntil.get(input.name).forall(_ <= nowMillis)
      message <- if (change.more > 0) becameIdle(input, batch, change) else returned(input, batch, change)
    } {
      silentUntil(input.name) = nowMillis + RestMillis
      logWarning(s"$label: $message")
    }

  private def changeOfSplits(
      input: PlanOrigin,
      before: Map[OriginName, QueryView.Totals],
      batch: QueryView.Planned): Option[Change] = for {
    now <- batch.totals.get(input.name)
    was = before.get(input.name).fold(0)(_.idle) if now.idle != was
  } yield Change(now.idle, now.idle - was, _ => true)

  /** A writer that has ended since is no longer silent, and has not returned either. */
  private def changeOfWriters(input: PlanOrigin, batch: QueryView.Planned): Option[Change] = {
    val splits = batch.snapshot.entry.splitsOf(input.name)
    val now = silentOnes(input, batch)
    val was = silentWriters.put(input.name, now).getOrElse(Set.empty)
    def isBack(split: Int) = was(splits.name(split)) && splits.state(split) != SplitState.Idle
    Option.when(now != was)(Change(now.size, (now -- was).size, isBack))
  }

  /** The writers of an input that are idle by their silence. */
  private def silentOnes(input: PlanOrigin, batch: QueryView.Planned): Set[Seq[Option[String]]] = {
    val splits = batch.snapshot.entry.splitsOf(input.name)
    behind(input, batch).are(SplitState.Idle).filter(silent(input, batch)).map(splits.name).toSet
  }

  /** Whether a split that is idle is so by its silence, and not by its word. */
  private def silent(input: PlanOrigin, batch: QueryView.Planned): Int => Boolean = {
    val all = behind(input, batch)
    val writers = batch.snapshot.entry.origins.get(input.name).fold(Map.empty[String, WriterState])(_.writers)
    split => !all.writer(split).flatMap(writers.get).exists(_.isResting)
  }

  private def becameIdle(input: PlanOrigin, batch: QueryView.Planned, change: Change): Option[String] = {
    val splits = batch.snapshot.entry.splitsOf(input.name)
    behind(input, batch).latestIdle(silent(input, batch)).headOption.map { split =>
      val others = if (change.more > 1) s" and ${Words.counted(change.more - 1L, "other")}" else ""
      val clock = splits.clock(split).fold("")(clock => s" (clock ${words.at(clock)})")
      val verb = if (change.idle == 1) "is" else "are"
      s"${named(input, splits, split)}$clock$others of input ${words.name(input.name.toString)} became idle, and the " +
        s"watermark advances without ${if (change.more > 1) "them" else "it"}. ${Words.grouped(change.idle.toLong)} of " +
        s"${Words.counted(splits.size.toLong, noun(input))} $verb idle${if (isNoted(input)) " for silence" else ""}."
    }
  }

  private def returned(input: PlanOrigin, batch: QueryView.Planned, change: Change): Option[String] = {
    val splits = batch.snapshot.entry.splitsOf(input.name)
    for {
      split <- behind(input, batch).waitedFor.find(change.isBack)
      clock <- splits.clock(split)
      reached <- batch.snapshot.decision.origin(input.name).millis if clock < reached
    } yield s"${named(input, splits, split)} of input ${words.name(input.name.toString)} is back at ${words.at(clock)}, " +
      s"${Words.length(reached - clock)} behind the watermark. Its rows before that are late."
  }

  private def named(input: PlanOrigin, splits: Splits, split: Int): String =
    s"${noun(input)} ${words.name(SplitNameTable.show(splits.name(split)))}"

  private def isNoted(input: PlanOrigin): Boolean = input.rules.noted.nonEmpty

  private def noun(input: PlanOrigin): String = if (isNoted(input)) "writer" else "split"

  private def behind(input: PlanOrigin, batch: QueryView.Planned) =
    new SplitsBehind(input, batch.snapshot.entry.splitsOf(input.name), batch.snapshot.decision.origin(input.name))
}

private[tidemark] object SplitNews {

  /** @param idle how many are idle; @param more how many of them were not before, less than 0 if some are back
    * @param isBack whether a split was idle before
    */
  private final case class Change(idle: Int, more: Int, isBack: Int => Boolean)

  private val RestMillis = 60000L
}
