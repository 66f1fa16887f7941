package org.apache.spark.sql.tidemark.report

import java.io.FileNotFoundException

import io.tidemark.{CheckpointErrors, TidemarkException}
import io.tidemark.core.{EventTimeUnits, OriginName}
import io.tidemark.core.memory.{CutSearch, OriginState, WatermarkEntry}
import io.tidemark.core.memory.CutSearch.{Forgotten, NotYet, Reached}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.{ArrayData, DateTimeUtils, TimestampFormatter}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.streaming.checkpointing.OffsetSeqLog
import org.apache.spark.sql.execution.streaming.runtime.FileStreamSourceLog
import org.apache.spark.sql.tidemark.log.{BatchOffsets, EntryFiles, EntryReader}
import org.apache.spark.unsafe.types.UTF8String

/** Reads from a checkpoint how far its query had read its sources at an event time. */
private[tidemark] final class CutReader(session: SparkSession, location: String, asked: CutReader.Asked) {
  import CutReader._

  private val checkpoint = new Path(location)
  private val conf = session.sessionState.newHadoopConf()
  private lazy val offsets = new OffsetSeqLog(session, new Path(checkpoint, "offsets").toString)

  /** A row for each source, in the schema of [[OffsetsTable]].
    * @throws TidemarkException `NO_CUT` if the log does not tell, `NO_LOG` if there is none
    */
  def rows(): Seq[InternalRow] =
    // A running query deletes entries while they are read. The second time, the search begins with a new list of them.
    try sourcesOf(batch())
    catch { case _: FileNotFoundException => sourcesOf(batch()) }

  private def batch(): Long = {
    val listing = LogTable.listing(location, conf)
    val reader = new EntryReader(new EntryFiles(checkpoint, conf), listing)
    val last = batches("commits").lastOption.getOrElse(-1L)
    // An entry counts once Spark has committed its batch. It is empty if stock Spark has ended a batch that a crash cut short.
    def isEmpty(batch: Long) = listing.entry(batch).forall(listing.bytes(batch, _) == 0)
    val written = listing.entries.filter(batch => batch <= last && !isEmpty(batch)).toIndexedSeq
    if (written.isEmpty) throw new TidemarkException(CheckpointErrors.NoLog(location))
    // An entry with another time is stale: stock Spark has run its batch again after the checkpoint was set back.
    def entry(batch: Long) = reader.read(batch).map(_.entry).filter(entry =>
      entry.isOf(offsets.offsetSeqMetadataForBatchId(batch).map(_.batchTimestampMs)))
    val newest = written.reverseIterator.flatMap(entry(_)).nextOption().getOrElse(refuse(ranWithout(written.last)))
    requireKey(newest)
    def reached(batch: Long) = {
      val found = if (batch == newest.batch) Some(newest) else entry(batch)
      found.flatMap(at => Reached.of(inputs(at).values.toSeq))
    }
    // An entry names the correction before it.
    val corrected = Iterator.unfold(newest) { at =>
      at.correction.map(_.batch).filter(written.contains).map { batch =>
        batch -> written.filter(_ < batch).lastOption.flatMap(entry).getOrElse(at.copy(correction = None))
      }
    }
    val search = new CutSearch(written.takeWhile(_ <= newest.batch), reached, corrected.toSeq)
    val found = if (asked.edge == Complete) search.complete(asked.micros) else search.before(asked.micros)
    found.fold(missing => refuse(why(missing, newest)), identity)
  }

  private def inputs(entry: WatermarkEntry): Map[OriginName, OriginState] =
    entry.origins.filter { case (name, _) => asked.key.forall(_ == name.toString) }

  private def requireKey(newest: WatermarkEntry): Unit =
    for (key <- asked.key if inputs(newest).isEmpty) {
      val keys = newest.origins.keys.map(name => s"'$name'").toSeq.sorted
      refuse(s"no watermark has the key '$key'; there are ${keys.mkString(", ")}")
    }

  private def why(missing: CutSearch.Missing, newest: WatermarkEntry): String = missing match {
    case NotYet(batch, _) =>
      val behind = inputs(newest).minBy(_._2.watermark.millis)
      s"after batch $batch, the last one in the log, the watermark '${behind._1}' is ${at(behind._2.watermark.millis)}"
    case Forgotten(batch, None) => ranWithout(batch)
    case Forgotten(batch, Some(reached)) if asked.edge == Complete =>
      s"after batch $batch, the oldest one in the log, the watermark is at ${show(reached)} already"
    case Forgotten(0, Some(reached)) =>
      s"batch 0 has read rows up to ${show(reached)} already, so nothing but the start of the sources is before them"
    case Forgotten(batch, Some(reached)) =>
      s"batch $batch, the oldest one in the log, or one before it has read rows up to ${show(reached)} already"
  }

  private def ranWithout(batch: Long): String =
    s"batches up to $batch ran without Tidemark, or without this key, so what they have read is unknown"

  private def at(millis: Option[Long]): String = millis.fold("not defined yet")(time => s"at ${show(time)}")

  private def show(millis: Long): String = showMicros(EventTimeUnits.micros(millis))

  private def showMicros(micros: Long): String = CutReader.show(session, micros)

  private def refuse(reason: String): Nothing =
    throw new TidemarkException(CheckpointErrors.NoCut(location, showMicros(asked.micros), reason))

  private def batches(folder: String): Seq[Long] = batchesIn(checkpoint, folder, conf)

  private def sourcesOf(batch: Long): Seq[InternalRow] = {
    def of(id: Long) = offsets.get(id).fold(Map.empty[String, String])(BatchOffsets.of(_).collect {
      case (source, Some(offset)) => source -> offset.json
    }.toMap)
    val newest = batches("offsets").lastOption.fold(Map.empty[String, String])(of)
    val at = of(batch)
    if (at.isEmpty) refuse(s"Spark's log no longer has the offsets of batch $batch")
    at.toSeq.sortBy { case (source, _) => (source.toIntOption, source) }.map { case (source, json) =>
      val cut = SourceCut.of(json, newest.getOrElse(source, json))
      val files = cut.logOffset.map(filesOf(source, _))
      InternalRow(
        batch,
        text(source),
        text(cut.kind),
        text(json),
        cut.starting.map(text).orNull,
        cut.ending.map(text).orNull,
        files.map(all => ArrayData.toArrayData(all.map(text).toArray)).orNull)
    }
  }

  /** The files that a source of files had read. */
  private def filesOf(source: String, until: Long): Seq[String] = {
    val log = new Path(new Path(checkpoint, "sources"), source)
    if (!log.getFileSystem(conf).exists(log)) Nil
    else
      new FileStreamSourceLog(FileStreamSourceLog.VERSION, session, log.toString).allFiles().toSeq.collect {
        case file if file.batchId <= until => file.path
      }
  }

  private def text(value: String): UTF8String = UTF8String.fromString(value)
}

private[tidemark] object CutReader {
  private val Complete = "complete"

  /** The batches in one of Spark's own logs, in order. */
  def batchesIn(checkpoint: Path, folder: String, conf: Configuration): Seq[Long] = {
    val path = new Path(checkpoint, folder)
    val fs = path.getFileSystem(conf)
    val names = if (fs.exists(path)) fs.listStatus(path).toSeq.map(_.getPath.getName) else Nil
    names.flatMap(_.toLongOption).sorted
  }

  /** A time (µs) in the session's time zone. */
  def show(session: SparkSession, micros: Long): String = {
    val zone = DateTimeUtils.getZoneId(session.sessionState.conf.sessionLocalTimeZone)
    TimestampFormatter.getFractionFormatter(zone).format(micros)
  }

  val edges: Set[String] = Set(Complete, "before")

  /** @param micros the event time (µs); @param key the watermark that is asked; `None` for all of the query */
  final case class Asked(micros: Long, edge: String, key: Option[String])
}
