package org.apache.spark.sql.tidemark.log

import java.io.{InputStream, InterruptedIOException, IOException}
import java.nio.channels.ClosedByInterruptException

import scala.collection.mutable

import io.tidemark.{TidemarkError, TidemarkException}
import io.tidemark.core.bytes.{ByteWriter, Damaged}
import io.tidemark.core.format.SectionFormat

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{ChecksumException, Path}

import org.apache.spark.sql.execution.streaming.checkpointing.{
  CheckpointFileManager,
  FileSystemBasedCheckpointFileManager
}

/** The files in the `tidemark` folder of a query's checkpoint: a few for each batch, of different kinds.
  *
  * Goes through Spark's [[CheckpointFileManager]], and so works on every file system that Spark can checkpoint to. The
  * folder is listed once; what is in it after that is remembered. [[write]] and [[abandon]] may be called from any thread,
  * the others are the query's own.
  *
  * @param known what a listing has had, where the folder is not to be listed again
  */
private[tidemark] final class EntryFiles(
    checkpoint: Path,
    conf: Configuration,
    known: Option[EntryFiles.Listing] = None) {
  import EntryFiles._

  private val folder = new Path(checkpoint, Folder)
  private lazy val manager = CheckpointFileManager.create(folder, conf)

  // Before the first file is written: who only reads makes no folder.
  private lazy val madeFolder: Unit = if (!manager.exists(folder)) manager.mkdirs(folder)

  /** What was there when this was first asked. */
  lazy val listing: Listing = known.getOrElse {
    val there = if (manager.exists(folder)) manager.list(folder).toSeq else Nil
    there.map(file => file.getPath.getName -> file.getLen)
  }

  private lazy val present = {
    val found = mutable.TreeMap.empty[Long, Set[Kind]]
    listing.foreach {
      case (Name(batch, kind), _) => noteIn(found, batch, kind)
      case _ =>
    }
    found
  }

  // On other file systems there is nothing to wait for, and a file that is open for long may be closed by others, or put
  // something in another's place when it is.
  private lazy val ahead = manager match {
    case local: CheckpointFileManager with CheckpointFileManager.RenameHelperMethods
        if folder.toUri.getScheme == "file" =>
      Some(new PrecreatedFile(local))
    case _ => None
  }

  def path(batch: Long, kind: Kind): Path = new Path(folder, s"$batch${kind.suffix}")

  def has(batch: Long, kind: Kind): Boolean = present.get(batch).exists(_(kind))

  /** The batches of which there is something, in order. */
  def batches: Iterator[Long] = present.keysIterator

  /** The newest batch up to this one of which there is a file of that kind. */
  def newest(upTo: Long, kind: Kind): Option[Long] =
    present.rangeTo(upTo).toSeq.reverseIterator.collectFirst { case (batch, there) if there(kind) => batch }

  /** @throws TidemarkException when the file is not what was written */
  def read(batch: Long, kind: Kind): Array[Byte] = {
    val file = path(batch, kind)
    val bytes =
      try {
        requireShort(file)
        val in: InputStream = manager.open(file)
        try in.readAllBytes()
        finally in.close()
      } catch {
        case e: ChecksumException =>
          throw new TidemarkException(
            TidemarkError.EntryDamaged(file.toString, "its checksum does not match its checksum file"),
            e)
      }
    if (bytes.isEmpty) throw new TidemarkException(TidemarkError.EntryEmpty(file.toString))
    bytes
  }

  /** Before memory is taken for it. */
  private def requireShort(file: Path): Unit =
    listing.find { case (name, bytes) => name == file.getName && bytes > ByteWriter.Most }.foreach { case (_, bytes) =>
      val why = s"it is $bytes bytes long, which no entry can be"
      throw new TidemarkException(TidemarkError.EntryDamaged(file.toString, why))
    }

  /** What is read of a file, or the error that names it. */
  def reading[A](batch: Long, kind: Kind)(read: Array[Byte] => A): A = {
    val bytes = this.read(batch, kind)
    val file = path(batch, kind).toString
    try read(bytes)
    catch {
      case e: SectionFormat.Newer =>
        throw new TidemarkException(TidemarkError.EntryNewer(file, e.version, SectionFormat.Version), e)
      case e: Damaged => throw new TidemarkException(TidemarkError.EntryDamaged(file, e.why), e)
    }
  }

  /** Makes the file of an entry that is to be written in place, where that takes long. */
  def begin(batch: Long, kind: Kind): Unit = ahead.foreach { ahead =>
    ahead.begin(path(batch, kind))
    note(batch, kind)
  }

  /** Lets go of a file that has been begun and not been written: it goes, unless somebody else has written it. */
  def abandon(): Unit = ahead.foreach(_.abandon())

  /** Durable when it returns; a file that is there already is replaced.
    * @param inPlace whether half of it may be there after a crash: that costs a quarter of a file which is renamed, or next
    *   to nothing where it has been begun
    * @throws TidemarkException when the file system does not take it
    */
  def write(batch: Long, kind: Kind, data: Array[Byte], inPlace: Boolean): Unit =
    try write(path(batch, kind), data, inPlace)
    catch {
      // So a query is stopped.
      case e @ (_: InterruptedIOException | _: ClosedByInterruptException) => throw e
      case e: IOException =>
        throw new TidemarkException(TidemarkError.EntryNotWritten(path(batch, kind).toString, e.getMessage), e)
    }

  private def write(file: Path, data: Array[Byte], inPlace: Boolean): Unit = {
    madeFolder
    manager match {
      case direct: CheckpointFileManager.RenameHelperMethods if inPlace =>
        if (!ahead.exists(_.fill(file, data))) {
          PrecreatedFile.claim(file)
          PrecreatedFile.write(direct.createTempFile(file), data)
        }
      case other =>
        val out = other.createAtomic(file, overwriteIfPossible = true)
        try {
          out.write(data)
          // Many file systems do not rename onto a file that is there, and by this one it would not be said.
          if (other.isInstanceOf[FileSystemBasedCheckpointFileManager]) other.delete(file)
          out.close()
        } catch {
          case e: Throwable =>
            out.cancel()
            throw e
        }
    }
  }

  /** Hadoop keeps a checksum beside a local file. When the file is replaced, that of the old one is there for a moment, and
    * the new file damaged by it; an entry has its own.
    */
  def forgetChecksum(batch: Long, kind: Kind): Unit = {
    val file = path(batch, kind)
    manager.delete(new Path(file.getParent, s".${file.getName}.crc"))
  }

  /** That there is such a file now. */
  def note(batch: Long, kind: Kind): Unit = noteIn(present, batch, kind)

  def delete(batch: Long, kind: Kind): Unit = if (has(batch, kind)) {
    ahead.foreach(_.giveUp(path(batch, kind)))
    manager.delete(path(batch, kind))
    present.updateWith(batch)(_.map(_ - kind).filter(_.nonEmpty))
  }

  private def noteIn(all: mutable.TreeMap[Long, Set[Kind]], batch: Long, kind: Kind): Unit =
    all.update(batch, all.getOrElse(batch, Set.empty) + kind)
}

private[tidemark] object EntryFiles {
  val Folder: String = "tidemark"

  /** Files by name, with their bytes. */
  type Listing = Seq[(String, Long)]

  sealed abstract class Kind(val suffix: String)

  /** An entry with all splits. */
  case object Whole extends Kind("")

  /** An entry with the splits that have changed. */
  case object Changes extends Kind(".changes")

  /** How all splits stand at the end of a batch, beside its entry. */
  case object States extends Kind(".splits")

  /** What these splits are called. */
  case object Names extends Kind(".names")

  val kinds: Seq[Kind] = Seq(Whole, Changes, States, Names)

  private object Name {
    def unapply(name: String): Option[(Long, Kind)] = {
      val (digits, suffix) = name.span(_.isDigit)
      // What no batch is called so is nobody's business: it may have more digits than a number can have.
      for (batch <- digits.toLongOption if batch.toString == digits; kind <- kinds.find(_.suffix == suffix))
        yield batch -> kind
    }
  }
}
