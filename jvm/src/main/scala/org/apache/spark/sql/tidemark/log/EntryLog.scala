package org.apache.spark.sql.tidemark.log

import scala.collection.mutable

import io.tidemark.{TidemarkError, TidemarkException}
import io.tidemark.core.bytes.{ByteWriter, Damaged}
import io.tidemark.core.format.{EntryAssembler, EntryCodec, SplitsSnapshot}
import io.tidemark.core.memory.WatermarkEntry

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

/** The watermark entries of a query, one for each batch.
  *
  * Where there are many splits an entry has only those that have changed. Snapshots, which are written beside the query's
  * own thread, keep the way back to something whole short.
  *
  * @param retain entries that are kept, as Spark keeps its own
  * @param known what a listing of the folder has had, if there was one just now
  */
private[tidemark] final class EntryLog(
    checkpoint: Path,
    conf: Configuration,
    retain: Int,
    known: Option[EntryFiles.Listing] = None) {
  import EntryFiles._
  import EntryLog._

  private val files = new EntryFiles(checkpoint, conf, known)
  private val snapshots = new SnapshotWriter(files)

  private var last = Option.empty[EntryCodec.Written]
  private var hasWritten = false

  // The size of the last entry that is whole, or of a snapshot after it; and the entries since then, with theirs.
  private var baseSize = 0
  private val changes = mutable.Queue.empty[(Long, Int)]

  /** The entry of a batch; `None` if there is none.
    * @throws TidemarkException when there is one that cannot be read
    */
  def read(batch: Long): Option[WatermarkEntry] = last.map(_.entry).filter(_.batch == batch).orElse(readFiles(batch))

  private def readFiles(batch: Long): Option[WatermarkEntry] =
    if (!files.has(batch, Whole) && !files.has(batch, Changes)) None
    else {
      val read = new EntryAssembler
      val base = baseOf(batch)
      val hasSnapshot = !files.has(base, Whole)
      changes.clear()
      if (hasSnapshot) readSnapshot(base, read)
      ((if (hasSnapshot) base + 1 else base) to batch).foreach { one =>
        val kind = if (files.has(one, Whole)) Whole else Changes
        files.reading(one, kind) { bytes =>
          read.next(bytes)
          if (read.batch != one) throw new Damaged(s"it belongs to batch ${read.batch}")
          if (kind == Changes) changes += one -> bytes.length else baseSize = bytes.length
        }
      }
      last = Some(read.written)
      last.map(_.entry)
    }

  /** The batches that have an entry, in order. */
  def batches: Seq[Long] = files.batches.filter(one => files.has(one, Whole) || files.has(one, Changes)).toSeq

  /** What the folder had when it was first looked at. */
  def listing: Listing = files.listing

  /** Where the entry of a batch is. */
  def file(batch: Long): String = files.path(batch, Whole).toString

  /** The newest whole entry before `batch`. The newest of all may have been cut short: if Spark alone has run its batch
    * again, nothing has replaced it. One of a newer format is whole, and refused.
    */
  def newestBefore(batch: Long): Option[WatermarkEntry] =
    batches.filter(_ < batch).takeRight(2).reverse match {
      case Seq(newest, older) =>
        try read(newest)
        catch { case e: TidemarkException if isCutShort(e) => read(older) }
      case newest => newest.headOption.flatMap(read)
    }

  /** Says that a batch is being run, whose entry is to be written when it has ended. The first one of a run may have one
    * already.
    */
  def begin(batch: Long): Unit = if (hasWritten) files.begin(batch, if (changes.isEmpty) Whole else Changes)

  /** Nothing is written for the batch that has been begun: another driver has ended it, or the query is stopped. From any
    * thread.
    */
  def abandon(): Unit = files.abandon()

  /** Durable when it returns. A batch that is run again replaces its entry. */
  def write(entry: WatermarkEntry): Unit = {
    val before = last.filter(_.entry.batch == entry.batch - 1)
    val encoded = encode(entry, before)
    val (kind, other) = if (encoded.isWhole) (Whole, Changes) else (Changes, Whole)
    if (!hasWritten) forgetFrom(entry.batch)
    files.delete(entry.batch, other)
    // An entry counts once Spark's own commit entry is there, which is written after it. One that a crash has cut short is
    // written anew when its batch runs again.
    files.write(entry.batch, kind, encoded.data, inPlace = true)
    files.note(entry.batch, kind)
    hasWritten = true
    last = Some(EntryCodec.Written(entry, encoded.checksum))
    // Spark has counted the batch before as done: its entry will not be written again.
    shorten(before)
    if (encoded.isWhole) {
      changes.clear()
      baseSize = encoded.data.length
    } else changes += entry.batch -> encoded.data.length
    // As Spark does, which keeps what one may set a checkpoint back to.
    purge(entry.batch - 1 - math.max(retain, LeastRetained))
  }

  /** Replaces the entry of a batch that counts, by a rename: no half of it is there at any time. */
  def rewrite(entry: WatermarkEntry): Unit = {
    val encoded = encode(entry, None)
    files.forgetChecksum(entry.batch, Whole)
    files.write(entry.batch, Whole, encoded.data, inPlace = false)
    files.note(entry.batch, Whole)
    files.delete(entry.batch, Changes)
    last = Some(EntryCodec.Written(entry, encoded.checksum))
    changes.clear()
    baseSize = encoded.data.length
  }

  private def encode(entry: WatermarkEntry, before: Option[EntryCodec.Written]): EntryCodec.Encoded =
    try EntryCodec.encode(entry, before)
    catch {
      case e: ByteWriter.TooLong => throw new TidemarkException(TidemarkError.EntryTooLong(file(entry.batch)), e)
    }

  /** Sees to it that not too many changes have to be read after a restart. */
  private def shorten(before: Option[EntryCodec.Written]): Unit = {
    snapshots.done().foreach { snapshot =>
      val _ = changes.dropWhileInPlace(_._1 <= snapshot.batch)
      baseSize = snapshot.size
    }
    if (changes.size >= MostChanges || changes.iterator.map(_._2.toLong).sum > baseSize) before.foreach(snapshots.begin)
  }

  /** What is there of this batch and later ones is of another life of the checkpoint. */
  private def forgetFrom(batch: Long): Unit =
    for {
      one <- files.batches.filter(_ >= batch).toSeq
      kind <- kinds if one > batch || kind == States || kind == Names
    } files.delete(one, kind)

  /** Deletes what no batch after `upTo` needs. */
  private def purge(upTo: Long): Unit =
    (files.newest(upTo + 1, Whole) ++ files.newest(upTo, States)).maxOption.foreach { base =>
      val names = files.newest(base, Names)
      // Without what came before it there is no way to that batch itself, only to those after it.
      if (!files.has(base, Whole)) files.delete(base, Changes)
      for {
        batch <- files.batches.takeWhile(_ < base).toSeq
        kind <- kinds if kind != Names || !names.contains(batch)
      } files.delete(batch, kind)
    }

  /** The newest batch whose entry is whole, or before which there is a snapshot, and from which on all entries are there. */
  private def baseOf(batch: Long): Long = {
    def isBase(one: Long) = files.has(one, Whole) || one < batch && files.has(one, States)
    val base = Iterator.iterate(batch)(_ - 1).find(one => isBase(one) || !files.has(one, Changes)).get
    if (!isBase(base)) {
      val why = s"it continues from ${files.path(base, Changes)}, which does not exist"
      throw new TidemarkException(TidemarkError.EntryDamaged(files.path(base + 1, Changes).toString, why))
    }
    base
  }

  private def readSnapshot(batch: Long, read: EntryAssembler): Unit =
    files.reading(batch, States) { states =>
      val of = SplitsSnapshot.header(states)
      if (of.batch != batch) throw new Damaged(s"it belongs to batch ${of.batch}")
      if (!files.has(of.namesBatch, Names))
        throw new Damaged(s"the file with its names, ${files.path(of.namesBatch, Names)}, does not exist")
      files.reading(of.namesBatch, Names)(read.names(_, of))
      read.states(states)
      baseSize = states.length
    }
}

private[tidemark] object EntryLog {

  // A restart reads the entry before the batch that it runs again, whatever else is kept.
  private val LeastRetained = 2

  // Files of changes, that each take a while to open.
  private val MostChanges = 50

  /** Whether a piece of an entry is refused so. */
  def isCutShort(e: TidemarkException): Boolean = isEmpty(e) || e.error.code == "CHECKPOINT_ENTRY_DAMAGED"

  /** Whether nothing of one is. */
  def isEmpty(e: TidemarkException): Boolean = e.error.code == "CHECKPOINT_ENTRY_EMPTY"
}
