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

  // What the file of that entry looked like then.
  private var stamp = Option.empty[Stamp]

  private def listing: EntryListing = listed.getOrElse {
    val now = files.list()
    listed = Some(now)
    now
  }

  private def note(batch: Long, kind: Kind): Unit = listed = Some(listing + (batch, kind))

  private def delete(batch: Long, kind: Kind): Unit = if (listing.has(batch, kind)) {
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
    for (chain <- read) {
      last = read
      stamp = kindOf(chain.entry.batch).flatMap(files.stamp(chain.entry.batch, _))
    }
    read.map(_.entry)
  }

  private def kindOf(batch: Long): Option[Kind] = Seq(Whole, Changes).find(listing.has(batch, _))

  /** Where the entry of a batch is. */
  def file(batch: Long): String = files.path(batch, Whole).toString

  /** Called when a batch is planned whose entry is to be written when it has ended. The first batch of a run may have an
    * entry already.
    */
  def begin(batch: Long): Unit = if (hasWritten) {
    val kind = if (last.forall(_.changes.isEmpty)) Whole else Changes
    if (files.begin(batch, kind)) note(batch, kind)
  }

  /** Called when no entry is written for the batch that has begun: another driver has ended it, or the query is stopped.
    * From any thread.
    */
  def abandon(): Unit = files.abandon()

  /** The entry is durable when this returns. A batch that is run again replaces its entry.
    * @throws TidemarkException if the entry before is not the one that the batch was decided from
    */
  def write(entry: WatermarkEntry): Unit = {
    val before = last.filter(_.entry.batch == entry.batch - 1)
    before.foreach(chain => requireUnchanged(chain.written))
    val encoded = encode(entry, before.map(_.written))
    val (kind, other) = if (encoded.isWhole) (Whole, Changes) else (Changes, Whole)
    if (!hasWritten) forgetFrom(entry.batch)
    delete(entry.batch, other)
    // An entry counts once Spark has written its own commit entry, which comes later. If a crash cuts the entry short, it
    // is written again when its batch runs again.
    files.write(entry.batch, kind, encoded.data, inPlace = true)
    note(entry.batch, kind)
    hasWritten = true
    stamp = files.stamp(entry.batch, kind)
    val written = EntryCodec.Written(entry, encoded.checksum)
    val size = encoded.data.length
    // Spark has committed the batch before: its entry will not be written again.
    val shortened = shorten(before)
    last = Some(shortened.filterNot(_ => encoded.isWhole).fold(Chain(written, size, Vector.empty)) { chain =>
      chain.copy(written = written, changes = chain.changes :+ (entry.batch -> size))
    })
    // As Spark does, which keeps the batches that a checkpoint may be set back to.
    purge(entry.batch - 1 - math.max(retain, LeastRetained))
  }

  /** Another process may correct the entry of a query that it does not know to be running. The batch that follows has begun
    * by now, so it looks no more, and what it has done is seen here.
    */
  private def requireUnchanged(written: EntryCodec.Written): Unit = {
    val batch = written.entry.batch
    def isThere = new EntryReader(files, files.list()).read(batch).exists(_.written.checksum == written.checksum)
    // A file system may forget when a file was written, so what it says is only the reason to look.
    if (kindOf(batch).flatMap(files.stamp(batch, _)) != stamp && !isThere)
      throw new TidemarkException(CheckpointErrors.EntryChanged(file(batch), batch + 1))
  }

  /** Replaces the entry of a committed batch by a rename, so that a reader never sees half of it. */
  def rewrite(entry: WatermarkEntry): Unit = {
    val encoded = encode(entry, None)
    files.forgetChecksum(entry.batch, Whole)
    files.write(entry.batch, Whole, encoded.data, inPlace = false)
    note(entry.batch, Whole)
    delete(entry.batch, Changes)
    last = Some(Chain(EntryCodec.Written(entry, encoded.checksum), encoded.data.length, Vector.empty))
  }

  /** Keeps a copy of an entry that is about to be rewritten, with all splits. Its place is returned. */
  def keep(entry: WatermarkEntry): Path = files.keep(entry.batch, encode(entry, None).data)

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

  /** Deletes files of this batch and later ones: stock Spark or another query has run these batches before. */
  private def forgetFrom(batch: Long): Unit =
    for {
      number <- listing.batches.filter(_ >= batch).toSeq
      kind <- kinds if number > batch || kind == States || kind == Names
    } delete(number, kind)

  /** Deletes what no batch after `upTo` needs. */
  private def purge(upTo: Long): Unit =
    (listing.newest(upTo + 1, Whole) ++ listing.newest(upTo, States)).maxOption.foreach { base =>
      val names = listing.newest(base, Names)
      // Without what came before it the entry of that batch cannot be read, only those after it.
      if (!listing.has(base, Whole)) delete(base, Changes)
      for {
        batch <- listing.batches.takeWhile(_ < base).toSeq
        kind <- kinds if kind != Names || !names.contains(batch)
      } delete(batch, kind)
    }
}

private[tidemark] object EntryWriter {

  // A restart reads the entry before the batch that it runs again, whatever else is kept.
  private val LeastRetained = 2

  // Each file of changes takes a while to open.
  private val MostChanges = 50
}
