package org.apache.spark.sql.tidemark.log

import io.tidemark.{CheckpointErrors, TidemarkException}
import io.tidemark.core.bytes.Damaged
import io.tidemark.core.format.{EntryAssembler, EntryCodec, SplitsSnapshot}
import io.tidemark.core.memory.WatermarkEntry

/** Reads the watermark entries of a query, as they were when the folder was listed. It keeps nothing, and may be used from
  * any thread.
  *
  * An entry may have only the splits that have changed. It then continues from the entry of the batch before it. Such a
  * chain of entries begins with one that has all splits, or with a snapshot.
  */
private[tidemark] final class EntryReader(files: EntryFiles, listing: EntryListing) {
  import EntryFiles._
  import EntryReader._

  /** The entry of a batch, with the chain that ends in it; `None` if there is none.
    * @throws TidemarkException when there is one that cannot be read
    */
  def read(batch: Long): Option[Chain] =
    listing.entry(batch).map { _ =>
      val assembler = new EntryAssembler
      val (from, snapshotSize) = begin(batch, assembler)
      val sizes = (from to batch).map(number => number -> readEntry(number, assembler))
      val (whole, changes) = sizes.partition { case (number, _) => listing.whole(number).nonEmpty }
      Chain(assembler.written, whole.lastOption.fold(snapshotSize)(_._2), changes.toVector)
    }

  /** The entries of several batches in a row, of which only the first may need files of batches before it. */
  def readAll(batches: Seq[Long]): Iterator[WatermarkEntry] = {
    val assembler = new EntryAssembler
    batches.iterator.map { batch =>
      val from = if (batch == batches.head) begin(batch, assembler)._1 else batch
      (from to batch).foreach(readEntry(_, assembler))
      assembler.entry
    }
  }

  /** The batches with an entry, in order, cut so that each part can be read on its own. Only the first batch of a part may
    * need files of batches before it.
    */
  def parts: Seq[Seq[Long]] = {
    def continues(batch: Long) =
      listing.whole(batch).isEmpty && !hasSnapshot(batch - 1) && listing.entry(batch - 1).nonEmpty
    listing.entries.foldLeft(Vector.empty[Vector[Long]]) { (parts, batch) =>
      if (parts.nonEmpty && continues(batch)) parts.init :+ (parts.last :+ batch) else parts :+ Vector(batch)
    }
  }

  /** The newest entry before `batch` that is not cut short. The newest of all may be: if stock Spark has run its batch
    * again, nothing has replaced it. An entry of a newer format is not cut short, and is refused.
    */
  def newestBefore(batch: Long): Option[Chain] =
    listing.entries.filter(_ < batch).takeRight(2).reverse match {
      case Seq(newest, older) =>
        try read(newest)
        catch { case e: TidemarkException if isCutShort(e) => read(older) }
      case newest => newest.headOption.flatMap(read)
    }

  /** A snapshot shows the entry that the batch has written, and not a correction of it. */
  private def hasSnapshot(batch: Long): Boolean = listing.has(batch, States) && listing.corrected(batch) == 0

  private def readEntry(batch: Long, assembler: EntryAssembler): Int =
    reading(batch, listing.entry(batch).getOrElse(Changes)) { bytes =>
      assembler.next(bytes)
      if (assembler.batch != batch) throw new Damaged(s"it belongs to batch ${assembler.batch}")
      bytes.length
    }

  private def reading[A](batch: Long, kind: Kind)(read: Array[Byte] => A): A =
    files.reading(batch, kind, listing.bytes(batch, kind))(read)

  /** Reads what the chain of a batch begins with, if that is a snapshot: the first entry to be read after it, and the bytes
    * of the snapshot.
    */
  private def begin(batch: Long, assembler: EntryAssembler): (Long, Int) = {
    def isBase(number: Long) = listing.whole(number).nonEmpty || number < batch && hasSnapshot(number)
    val base = Iterator.iterate(batch)(_ - 1).find(number => isBase(number) || !listing.has(number, Changes)).get
    if (!isBase(base)) {
      val why = s"it continues from ${files.path(base, Changes)}, which does not exist"
      throw new TidemarkException(CheckpointErrors.EntryDamaged(files.path(base + 1, Changes).toString, why))
    }
    if (listing.whole(base).nonEmpty) (base, 0) else (base + 1, readSnapshot(base, assembler))
  }

  private def readSnapshot(batch: Long, assembler: EntryAssembler): Int =
    reading(batch, States) { states =>
      val header = SplitsSnapshot.header(states)
      if (header.batch != batch) throw new Damaged(s"it belongs to batch ${header.batch}")
      if (!listing.has(header.namesBatch, Names)) {
        val names = files.path(header.namesBatch, Names)
        throw new Damaged(s"the file with its names, $names, does not exist")
      }
      reading(header.namesBatch, Names)(assembler.names(_, header))
      assembler.states(states)
      states.length
    }
}

private[tidemark] object EntryReader {

  /** An entry, and what it continues from.
    *
    * @param baseSize the bytes of the last entry with all splits, or of a snapshot after it
    * @param changes the batches since then, with the bytes of their entries
    */
  final case class Chain(written: EntryCodec.Written, baseSize: Int, changes: Vector[(Long, Int)]) {
    def entry: WatermarkEntry = written.entry

    /** Whether reading it takes many files, or more than what it begins with. */
    def isLong(mostChanges: Int): Boolean =
      changes.size >= mostChanges || changes.iterator.map(_._2.toLong).sum > baseSize
  }

  /** Whether a piece of an entry is refused so. */
  def isCutShort(e: TidemarkException): Boolean = isEmpty(e) || e.error.code == "CHECKPOINT_ENTRY_DAMAGED"

  /** Whether an empty file is refused so. */
  def isEmpty(e: TidemarkException): Boolean = e.error.code == "CHECKPOINT_ENTRY_EMPTY"
}
