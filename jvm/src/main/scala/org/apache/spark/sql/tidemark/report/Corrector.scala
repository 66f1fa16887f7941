package org.apache.spark.sql.tidemark.report

import scala.annotation.tailrec
import scala.jdk.CollectionConverters._

import io.tidemark.{CheckpointErrors, TidemarkError, TidemarkException}
import io.tidemark.core.{EventTimeUnits, OriginName}
import io.tidemark.core.memory.{CorrectEntry, OriginState, WatermarkEntry}
import io.tidemark.core.splits.SplitNameTable

import org.apache.hadoop.fs.Path

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.streaming.checkpointing.OffsetSeqLog
import org.apache.spark.sql.tidemark.log.EntryWriter
import org.apache.spark.unsafe.types.UTF8String

/** Changes the last entry of a stopped query, which decides the next batch.
  *
  * The new entry is a file of its own, which counts in the place of the old one. The old file stays as it is. A batch that
  * was begun has to run again as it was decided, so nothing is changed then.
  */
private[report] final class Corrector(session: SparkSession, location: String, asked: Corrector.Asked) {
  import Corrector._

  private val checkpoint = new Path(location)
  private val conf = session.sessionState.newHadoopConf()

  /** Makes the change, and returns a row in the schema of [[CorrectionTable]].
    * @throws TidemarkException if it is refused; nothing is changed then
    */
  @tailrec def run(): InternalRow = {
    if (LogTable.listing(location, conf).entries.isEmpty) refuse(CheckpointErrors.NoLog(location))
    requireStopped()
    val entries = new EntryWriter(checkpoint, conf, session.sessionState.conf.minBatchesToRetain)
    val entry = last(entries)
    val (name, state) = entry.origins.find(_._1.toString == asked.key).getOrElse(
      refuse(CheckpointErrors.UnknownKey(location, asked.key, entry.origins.keys.map(_.toString).toSeq.sorted)))
    val changed = asked match {
      case Correct(_, split, to) =>
        val splits = split.map(splitsNamed(name, state, _))
        CorrectEntry.takeBack(entry, name, splits, to.map(EventTimeUnits.millis), System.currentTimeMillis())
      case Forget(_, split) =>
        val splits = splitsNamed(name, state, split)
        if (state.writers.nonEmpty) refuse(CheckpointErrors.SplitIsWriter(location, asked.key, split))
        CorrectEntry.forget(entry, name, splits)
    }
    if (changed eq entry) row(entry, state, state, None)
    else
      entries.correct(changed) match {
        // Somebody else has corrected it since it was read.
        case None => run()
        case Some(added) =>
          // A batch begun meanwhile shows that another process runs the query. A query that begins a batch later sees the
          // correction, and stops.
          begun(entry.batch).foreach { batch =>
            added.takeBack()
            refuse(CheckpointErrors.BatchNotCommitted(location, batch))
          }
          row(entry, state, changed.origins(name), Some(added.before))
      }
  }

  private def requireStopped(): Unit = {
    val place = checkpoint.getFileSystem(conf).makeQualified(checkpoint)
    session.sharedState.activeStreamingQueries.values.asScala.find { query =>
      new Path(query.resolvedCheckpointRoot) == place
    }.foreach { query =>
      refuse(CheckpointErrors.QueryIsRunning(location, Option(query.name).getOrElse(query.id.toString)))
    }
  }

  private def begun(committed: Long): Option[Long] =
    CutReader.batchesIn(checkpoint, "offsets", conf).lastOption.filter(_ > committed)

  /** The entry that the next batch is decided from. */
  private def last(entries: EntryWriter): WatermarkEntry = {
    val committed = CutReader.batchesIn(checkpoint, "commits", conf).lastOption.getOrElse(
      refuse(CheckpointErrors.NoLog(location, "Spark's log has no committed batch")))
    begun(committed).foreach(batch => refuse(CheckpointErrors.BatchNotCommitted(location, batch)))
    val offsets = new OffsetSeqLog(session, new Path(checkpoint, "offsets").toString)
    // An entry with another time is stale: stock Spark has run its batch.
    def isCurrent(entry: WatermarkEntry) =
      entry.isOf(offsets.offsetSeqMetadataForBatchId(committed).map(_.batchTimestampMs))
    entries.read(committed).filter(isCurrent).getOrElse(
      refuse(CheckpointErrors.NoLog(location, s"batch $committed, the last one, ran without Tidemark")))
  }

  private def splitsNamed(name: OriginName, state: OriginState, split: String): Set[Int] = {
    val all = state.splits
    def shown(number: Int) = SplitNameTable.show(all.name(number))
    val found = Iterator.range(0, all.size).filter(number => all.name(number).nonEmpty && shown(number) == split).toSet
    if (found.isEmpty) {
      val some = Iterator.range(0, all.size).filter(all.name(_).nonEmpty).take(MostNamed).map(shown).toSeq
      refuse(CheckpointErrors.UnknownSplit(location, name.toString, split, some))
    }
    found
  }

  private def row(entry: WatermarkEntry, before: OriginState, after: OriginState, kept: Option[String]): InternalRow =
    InternalRow(
      entry.batch,
      text(asked.key),
      time(before),
      time(after),
      kept.map(text).orNull,
      text(follows(before, after, kept)))

  private def follows(before: OriginState, after: OriginState, kept: Option[String]): String =
    asked match {
      case _ if kept.isEmpty => "Nothing was later than that time, so nothing was changed."
      case _: Forget => FollowsForget
      case _: Correct if before.watermark.millis == after.watermark.millis => FollowsClocks
      case _: Correct => FollowsWatermark
    }

  private def time(state: OriginState): UTF8String =
    state.watermark.millis.map(at => text(CutReader.show(session, EventTimeUnits.micros(at)))).orNull

  private def text(value: String): UTF8String = UTF8String.fromString(value)

  private def refuse(error: TidemarkError): Nothing = throw new TidemarkException(error)
}

private[report] object Corrector {
  private val MostNamed = 20

  sealed trait Asked {
    def key: String
  }

  /** @param toMicros the time (µs) that clocks go back to; `None` for the wall clock less the delay */
  final case class Correct(key: String, split: Option[String], toMicros: Option[Long]) extends Asked
  final case class Forget(key: String, split: String) extends Asked

  // What a person has to know when it is done.
  private val FollowsWatermark =
    "Windows between both watermarks that were emitted come again, with the rows that are read from now on. State that was " +
      "evicted and rows that were late are not restored: tidemark.offsets_at with edge='before' names where to count them " +
      "again. Watermarks of operators in between went back as well."
  private val FollowsClocks = "The watermark stays where it was, so no window comes again."
  private val FollowsForget =
    "The split no longer holds the watermark, which does not go back. A split that returns is new, and its rows up to the " +
      "watermark are late. A split that is expected, or that the source still has, is known again after the next batch."
}
