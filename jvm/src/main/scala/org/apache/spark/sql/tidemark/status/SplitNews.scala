package org.apache.spark.sql.tidemark.status

import scala.collection.mutable

import io.tidemark.core.OriginName
import io.tidemark.core.noted.WriterState
import io.tidemark.core.splits.{SplitNameTable, SplitState}
import io.tidemark.core.why.{SeenOnce, Words}

import org.apache.spark.internal.Logging
import org.apache.spark.sql.tidemark.columns.PlanOrigin

/** Logs when splits become idle, and when one comes back behind the watermark: both are how rows get lost. It also logs, once,
  * that an input is split by something that does not last. It belongs to the query's thread.
  *
  * The splits of a noted input are its writers. A writer that has ended, or has said that it may be left out, is no news.
  *
  * Finding a name scans all splits. So each input is logged once a minute at most, and what comes in between is counted.
  *
  * @param label the query's name, for messages
  */
private[tidemark] final class SplitNews(label: String, words: Words) extends Logging {
  import SplitNews._

  private val silentUntil = mutable.HashMap.empty[OriginName, Long]
  private val warned = mutable.HashSet.empty[OriginName]

  // Of each noted input the writers that are idle by their silence.
  private val silentWriters = mutable.HashMap.empty[OriginName, Int]

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
      (was, idle) <- idleBeforeAndNow(input, before, batch)
      // Splits that are forgotten do not return.
      if batch.snapshot.entry.splitsOf(input.name).size >=
        before.get(input.name).fold(0)(totals => totals.active + totals.idle)
      if idle != was && silentUntil.get(input.name).forall(_ <= nowMillis)
      message <- if (idle > was) becameIdle(input, batch, idle - was, idle) else returned(input, batch)
    } {
      silentUntil(input.name) = nowMillis + RestMillis
      logWarning(s"$label: $message")
    }

  private def idleBeforeAndNow(
      input: PlanOrigin,
      before: Map[OriginName, QueryView.Totals],
      batch: QueryView.Planned): Option[(Int, Int)] =
    if (input.rules.noted.isEmpty)
      batch.totals.get(input.name).map(now => before.get(input.name).fold(0)(_.idle) -> now.idle)
    else {
      val splits = batch.snapshot.entry.splitsOf(input.name)
      val isSilent = silent(input, batch)
      val now = Iterator.range(0, splits.size).count(split => splits.state(split) == SplitState.Idle && isSilent(split))
      Some(silentWriters.put(input.name, now).getOrElse(0) -> now)
    }

  /** Whether a split that is idle is so by its silence, and not by its word. */
  private def silent(input: PlanOrigin, batch: QueryView.Planned): Int => Boolean = {
    val all = behind(input, batch)
    val writers = batch.snapshot.entry.origins.get(input.name).fold(Map.empty[String, WriterState])(_.writers)
    split => !all.writer(split).flatMap(writers.get).exists(_.isResting)
  }

  private def becameIdle(input: PlanOrigin, batch: QueryView.Planned, more: Int, all: Int): Option[String] = {
    val splits = batch.snapshot.entry.splitsOf(input.name)
    behind(input, batch).latestIdle(silent(input, batch)).headOption.map { split =>
      val name = words.name(SplitNameTable.show(splits.name(split)))
      val others = if (more > 1) s" and ${Words.counted(more - 1L, "other")}" else ""
      val at = splits.clock(split).fold("")(clock => s" at ${words.at(clock)}")
      s"${noun(input)} $name$others of input ${words.name(input.name.toString)} became idle$at, and the watermark advances " +
        s"without it. ${Words.grouped(all.toLong)} of ${Words.counted(splits.size.toLong, noun(input))} are idle."
    }
  }

  private def returned(input: PlanOrigin, batch: QueryView.Planned): Option[String] = {
    val splits = batch.snapshot.entry.splitsOf(input.name)
    for {
      split <- behind(input, batch).waitedFor.headOption
      clock <- splits.clock(split)
      reached <- batch.snapshot.decision.origin(input.name).millis if clock < reached
    } yield s"${noun(input)} ${words.name(SplitNameTable.show(splits.name(split)))} of input ${words.name(input.name.toString)} is back at " +
      s"${words.at(clock)}, ${Words.length(reached - clock)} behind the watermark. Its rows before that are late."
  }

  private def noun(input: PlanOrigin): String = if (input.rules.noted.isEmpty) "split" else "writer"

  private def behind(input: PlanOrigin, batch: QueryView.Planned) =
    new SplitsBehind(input, batch.snapshot.entry.splitsOf(input.name), batch.snapshot.decision.origin(input.name))
}

private[tidemark] object SplitNews {
  private val RestMillis = 60000L
}
