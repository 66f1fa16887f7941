package org.apache.spark.sql.tidemark

import java.io.InputStream

import io.tidemark.{TidemarkError, TidemarkException}
import io.tidemark.core.{Entry, EntryCodec}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{ChecksumException, Path, PathFilter}

import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager

/** The watermark entries of a query, one file a batch, in the `tidemark` folder of its checkpoint.
  *
  * Goes through Spark's [[CheckpointFileManager]], and so works on every file system that Spark can checkpoint to.
  *
  * @param retain entries that are kept, as Spark keeps its own
  */
private[tidemark] final class EntryLog(checkpoint: Path, conf: Configuration, retain: Int) {
  private val folder = new Path(checkpoint, EntryLog.Folder)
  private lazy val files = {
    val manager = CheckpointFileManager.create(folder, conf)
    if (!manager.exists(folder)) manager.mkdirs(folder)
    manager
  }
  private var purged = false

  /** The entry of a batch; `None` if there is none.
    * @throws TidemarkException when there is one that cannot be read
    */
  def read(batch: Long): Option[Entry] = {
    val file = at(batch)
    if (!files.exists(file)) None
    else
      try Some(decode(file, batch, bytes(file)))
      catch {
        case e: ChecksumException =>
          throw new TidemarkException(TidemarkError.entryDamaged(file.toString, "its checksum file says so"), e)
      }
  }

  /** Where the entry of a batch is. */
  def file(batch: Long): String = at(batch).toString

  /** The newest whole entry before `batch`. The newest of all may have been cut short: if Spark alone has run its batch
    * again, nothing has replaced it. One of a newer format is whole, and refused.
    */
  def newestBefore(batch: Long): Option[Entry] =
    batches().filter(_ < batch).sorted.reverse.take(2) match {
      case Seq(newest, older) =>
        try read(newest)
        catch { case e: TidemarkException if EntryLog.CutShort(e.error.code) => read(older) }
      case newest => newest.headOption.flatMap(read)
    }

  /** Durable when it returns. A batch that is run again replaces its entry. */
  def write(entry: Entry): Unit = {
    val file = at(entry.batch)
    val data = EntryCodec.encode(entry)
    files match {
      // In place, which costs a third of a file that is renamed: an entry counts once Spark's own commit entry is there,
      // which is written after it. One that a crash has cut short is written anew when its batch runs again.
      case inPlace: CheckpointFileManager.RenameHelperMethods =>
        val out = inPlace.createTempFile(file)
        try out.write(data)
        finally out.close()
      case other =>
        val out = other.createAtomic(file, overwriteIfPossible = true)
        try {
          out.write(data)
          out.close()
        } catch {
          case e: Throwable =>
            out.cancel()
            throw e
        }
    }
    purge(entry.batch - math.max(retain, EntryLog.LeastRetained))
  }

  private def purge(upTo: Long): Unit =
    if (!purged) {
      batches().filter(_ <= upTo).foreach(batch => files.delete(at(batch)))
      purged = true
    } else if (upTo >= 0) files.delete(at(upTo))

  private def batches(): Seq[Long] =
    files.list(folder, EntryLog.EntriesOnly).toSeq.map(_.getPath.getName.toLong)

  private def at(batch: Long): Path = new Path(folder, batch.toString)

  private def bytes(file: Path): Array[Byte] = {
    val in: InputStream = files.open(file)
    try in.readAllBytes()
    finally in.close()
  }

  private def decode(file: Path, batch: Long, data: Array[Byte]): Entry = {
    def refuse(error: TidemarkError, cause: Throwable) = throw new TidemarkException(error, cause)
    if (data.isEmpty) refuse(TidemarkError.entryEmpty(file.toString), null)
    val entry =
      try EntryCodec.decode(data)
      catch {
        case e: EntryCodec.Newer => refuse(TidemarkError.entryNewer(file.toString, e.version, EntryCodec.Version), e)
        case e: EntryCodec.Damaged => refuse(TidemarkError.entryDamaged(file.toString, e.why), e)
      }
    if (entry.batch != batch) refuse(TidemarkError.entryDamaged(file.toString, s"it is of batch ${entry.batch}"), null)
    entry
  }
}

private[tidemark] object EntryLog {
  val Folder: String = "tidemark"

  // A restart reads the entry before the batch that it runs again, whatever else is kept.
  private val LeastRetained = 2

  // What a piece of an entry is refused as.
  private val CutShort = Set("CHECKPOINT_ENTRY_EMPTY", "CHECKPOINT_ENTRY_DAMAGED")

  private val EntriesOnly = new PathFilter {
    override def accept(path: Path): Boolean = path.getName.nonEmpty && path.getName.forall(_.isDigit)
  }
}
