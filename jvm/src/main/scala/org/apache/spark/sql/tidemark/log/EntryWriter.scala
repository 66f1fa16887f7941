package org.apache.spark.sql.tidemark.log

import io.tidemark.{CheckpointErrors, TidemarkException}
import io.tidemark.core.bytes.ByteWriter
import io.tidemark.core.format.EntryCodec
import io.tidemark.core.memory.WatermarkEntry

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

/** The watermark entries of a running query, one for each batch.
  *
  * If there are many splits, an entry has only those that have changed. Snapshots, which are written on another thread, keep
  * the way back to something whole short. All methods but [[abandon]] are called on the query's own thread.
  *
  * @param retain entries that are kept, as Spark keeps its own
  */
private[tidemark] final class EntryWriter(checkpoint: Path, conf: Configuration, retain: Int) {
  import EntryFiles._
  import EntryReader.Chain
  import EntryWriter._

  private val files = new EntryFiles(checkpoint, conf)
  private val snapshots = new SnapshotWriter(files)

  // The folder is listed when it is first needed. After that, what is written and deleted is remembered.
  private var listed = Option.empty[EntryListing]

  // The entry that was read or written last.
  private var last = Option.empty[Chain]
  private var hasWritten = false

  private def listing: EntryListing = listed.getOrElse {
    val now = files.list()
    listed = Some(now)
    now
  }

  private def note(batch: Long, kind: Kind): Unit = listed = Some(listing + (batch, kind))

  private def delete(batch: Long, kind: Kind): Unit = {
    files.delete(batch, kind)
    listed = Some(listing - (batch, kind))
  }

  /** The entry of a batch; `None` if there is none.
    * @throws TidemarkException when there is one that cannot be read
    */
  def read(batch: Long): Option[WatermarkEntry] =
    last.map(_.entry).filter(_.batch == batch).orElse(remember(new EntryReader(files, listing).read(batch)))

  /** The newest entry before `batch` that is not cut short. */
  def newestBefore(batch: Long): Option[WatermarkEntry] =
    remember(new EntryReader(files, listing).newestBefore(batch))

  private def remember(read: Option[Chain]): Option[WatermarkEntry] = {
    if (read.nonEmpty) last = read
    read.map(_.entry)
  }

  /** Where the entry of a batch is, or would be. */
  def file(batch: Long): String = files.path(batch, listing.entry(batch).getOrElse(Whole)).toString

  /** Called when a batch is planned whose entry is to be written when it has ended. The first batch of a run may have an
    * entry already.
    */
  def begin(): Unit = if (hasWritten) files.begin()

  /** Called when no entry is written for the batch that has begun: another driver has ended it, or the query is stopped.
    * From any thread.
    */
  def abandon(): Unit = files.abandon()

  /** Writes the entry of a batch, unless the batch has one. Another driver may have written it, or an earlier run that was
    * ended before it committed the batch. It has read the same rows, so that entry counts.
    *
    * @return the entry that counts, which is durable
    * @throws TidemarkException if the entry before was corrected since the batch was decided from it
    */
  def write(entry: WatermarkEntry): WatermarkEntry = {
    val before = last.filter(_.entry.batch == entry.batch - 1)
    before.foreach(chain => requireUncorrected(chain.entry.batch))
    if (!hasWritten) forgetAfter(entry.batch)
    val written = existing(entry).getOrElse(create(entry, before))
    hasWritten = true
    // Spark has committed the batch before.
    purge(entry.batch - 1 - math.max(retain, LeastRetained))
    written
  }

  private def create(entry: WatermarkEntry, before: Option[Chain]): WatermarkEntry = {
    val encoded = encode(entry, before.map(_.written))
    val kind = if (encoded.isWhole) Whole else Changes
    if (!files.create(entry.batch, kind, encoded.data)) {
      listed = Some(files.list())
      existing(entry).getOrElse(create(entry, before))
    } else {
      note(entry.batch, kind)
      val written = EntryCodec.Written(entry, encoded.checksum)
      val size = encoded.data.length
      // The entry of the batch before is committed now: a snapshot may show it.
      val shortened = shorten(before)
      last = Some(shortened.filterNot(_ => encoded.isWhole).fold(Chain(written, size, Vector.empty)) { chain =>
        chain.copy(written = written, changes = chain.changes :+ (entry.batch -> size))
      })
      entry
    }
  }

  /** The entry that the batch of `entry` has already. An entry that belongs to another batch of this number, was
    * decided otherwise or cannot be read, is deleted: its batch was never committed.
    */
  private def existing(entry: WatermarkEntry): Option[WatermarkEntry] = {
    val batch = entry.batch
    val same =
      try new EntryReader(files, listing).read(batch).filter(_.entry.isAlternativeTo(entry))
      catch { case e: TidemarkException if EntryReader.isCutShort(e) => None }
    if (same.isEmpty) deleteAll(Iterator(batch))
    remember(same)
  }

  /** Another process may correct the entry of a query that it does not know to be running. The batch that follows has begun
    * by now, so it looks no more, and what it has done is seen here.
    */
  private def requireUncorrected(batch: Long): Unit = {
    val next = Corrected(listing.corrected(batch) + 1)
    if (files.exists(batch, next))
      throw new TidemarkException(CheckpointErrors.EntryChanged(files.path(batch, next).toString, batch + 1))
  }

  /** Adds a corrected entry of a committed batch; `None` if somebody else has corrected the entry since it was read. */
  def correct(entry: WatermarkEntry): Option[Addition] = {
    val (before, kind) = (file(entry.batch), Corrected(listing.corrected(entry.batch) + 1))
    Option.when(files.create(entry.batch, kind, encode(entry, None).data)) {
      note(entry.batch, kind)
      Addition(before, () => delete(entry.batch, kind))
    }
  }

  private def encode(entry: WatermarkEntry, before: Option[EntryCodec.Written]): EntryCodec.Encoded =
    try EntryCodec.encode(entry, before)
    catch {
      case e: ByteWriter.TooLong => throw new TidemarkException(CheckpointErrors.EntryTooLong(file(entry.batch)), e)
    }

  /** Keeps the number of changes low that a restart has to read. */
  private def shorten(before: Option[Chain]): Option[Chain] = {
    val done = snapshots.done()
    done.foreach { snapshot =>
      note(snapshot.batch, States)
      note(snapshot.names.batch, Names)
    }
    val chain = done.foldLeft(before) { (chain, snapshot) =>
      chain.map(c => c.copy(baseSize = snapshot.size, changes = c.changes.dropWhile(_._1 <= snapshot.batch)))
    }
    chain.filter(_.isLong(MostChanges)).foreach(c => snapshots.begin(c.written))
    chain
  }

  /** Deletes files of batches after this one: stock Spark or another query has run them before the checkpoint was set back. */
  private def forgetAfter(batch: Long): Unit = deleteAll(listing.batches.filter(_ > batch))

  private def deleteAll(batches: Iterator[Long]): Unit =
    for (batch <- batches.toSeq; kind <- listing.kinds(batch)) delete(batch, kind)

  /** Deletes what no batch after `upTo` needs. */
  private def purge(upTo: Long): Unit = {
    val whole = listing.newest(upTo + 1)(listing.whole(_).nonEmpty)
    val snapshot = listing.newest(upTo)(listing.has(_, States))
    (whole ++ snapshot).maxOption.foreach { base =>
      val names = listing.newest(base)(listing.has(_, Names))
      // Without what came before it the entry of that batch cannot be read, only those after it.
      if (listing.whole(base).isEmpty && listing.has(base, Changes)) delete(base, Changes)
      for {
        batch <- listing.batches.takeWhile(_ < base).toSeq
        kind <- listing.kinds(batch) if kind != Names || !names.contains(batch)
      } delete(batch, kind)
    }
  }
}

private[tidemark] object EntryWriter {

  /** A correction.
    * @param before the file of the entry that counted before; @param takeBack deletes the correction
    */
  final case class Addition(before: String, takeBack: () => Unit)

  // A restart reads the entry before the batch that it runs again, whatever else is kept.
  private val LeastRetained = 2

  // Each file of changes takes a while to open.
  private val MostChanges = 50
}
