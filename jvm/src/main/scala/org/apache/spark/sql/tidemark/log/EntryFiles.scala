package org.apache.spark.sql.tidemark.log

import java.io.{FileNotFoundException, InputStream, InterruptedIOException, IOException}
import java.nio.channels.ClosedByInterruptException

import io.tidemark.{CheckpointErrors, TidemarkException}
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
  * It goes through Spark's [[CheckpointFileManager]], and so works on every file system that Spark can checkpoint to. It
  * does not know which files exist, apart from [[list]]. [[begin]] and [[delete]] are called on the query's own thread,
  * all other methods from any thread.
  */
private[tidemark] final class EntryFiles(checkpoint: Path, conf: Configuration) {
  import EntryFiles._

  private val folder = new Path(checkpoint, Folder)
  private lazy val manager = CheckpointFileManager.create(folder, conf)

  @volatile private var hasFolder = false

  // Only a writer makes the folder, before its first file.
  private def makeFolder(): Unit = if (!hasFolder) {
    if (!manager.exists(folder)) manager.mkdirs(folder)
    hasFolder = true
  }

  /** Lists the folder. */
  def list(): EntryListing = {
    val there = if (manager.exists(folder)) manager.list(folder).toSeq else Nil
    there.foldLeft(EntryListing.empty) { (listing, file) =>
      file.getPath.getName match {
        case Name(batch, kind) => listing + (batch, kind, file.getLen)
        case _ => listing
      }
    }
  }

  // Only local disks need it. Elsewhere a file that is open for long may be closed by others, or replace another file when
  // it is closed.
  private lazy val ahead = manager match {
    case local: CheckpointFileManager with CheckpointFileManager.RenameHelperMethods
        if folder.toUri.getScheme == "file" =>
      Some(new PrecreatedFile(local))
    case _ => None
  }

  def path(batch: Long, kind: Kind): Path = new Path(folder, s"$batch${kind.suffix}")

  /** Applies a reader to a file, and turns damage into the error that names the file.
    *
    * @param listedBytes its bytes when the folder was listed
    * @throws TidemarkException if the file is not what was written
    */
  def reading[A](batch: Long, kind: Kind, listedBytes: Long)(read: Array[Byte] => A): A = {
    val file = path(batch, kind)
    val bytes = readBytes(file, listedBytes)
    try read(bytes)
    catch {
      case e: SectionFormat.Newer =>
        throw new TidemarkException(CheckpointErrors.EntryNewer(file.toString, e.version, SectionFormat.Version), e)
      case e: Damaged => throw new TidemarkException(CheckpointErrors.EntryDamaged(file.toString, e.why), e)
    }
  }

  private def readBytes(file: Path, listedBytes: Long): Array[Byte] = {
    // Checked before memory is allocated for the file.
    if (listedBytes > ByteWriter.Most) {
      val why = s"it is $listedBytes bytes long, which no entry can be"
      throw new TidemarkException(CheckpointErrors.EntryDamaged(file.toString, why))
    }
    val bytes =
      try {
        val in: InputStream = manager.open(file)
        try in.readAllBytes()
        finally in.close()
      } catch {
        case e: ChecksumException =>
          throw new TidemarkException(
            CheckpointErrors.EntryDamaged(file.toString, "its checksum does not match its checksum file"),
            e)
      }
    if (bytes.isEmpty) throw new TidemarkException(CheckpointErrors.EntryEmpty(file.toString))
    bytes
  }

  /** What changes when a file is written again; `None` if there is none. */
  def stamp(batch: Long, kind: Kind): Option[Stamp] =
    try manager.list(path(batch, kind)).headOption.map(file => Stamp(file.getModificationTime, file.getLen))
    catch { case _: FileNotFoundException => None }

  /** Creates the file of an entry ahead of time, if the file system writes in place and is slow to create files. */
  def begin(batch: Long, kind: Kind): Boolean = {
    ahead.foreach(_.begin(path(batch, kind)))
    ahead.nonEmpty
  }

  /** Deletes a file that was created and not written, unless another run has written it. */
  def abandon(): Unit = ahead.foreach(_.abandon())

  /** Writes a file, which is durable when this returns, and replaces an existing one.
    *
    * @param inPlace whether a crash may leave half of the file. That costs a quarter of what a rename costs, and next
    *   to nothing if the file was created ahead
    * @throws TidemarkException if the file system refuses it
    */
  def write(batch: Long, kind: Kind, data: Array[Byte], inPlace: Boolean): Unit =
    try write(path(batch, kind), data, inPlace)
    catch {
      // An interrupt is how Spark stops a query.
      case e @ (_: InterruptedIOException | _: ClosedByInterruptException) => throw e
      case e: IOException =>
        throw new TidemarkException(CheckpointErrors.EntryNotWritten(path(batch, kind).toString, e.getMessage), e)
    }

  /** Keeps an entry in a file of its own, which no listing has, and returns where that is. */
  def keep(batch: Long, data: Array[Byte]): Path = {
    val names = Iterator.from(1).map(number => new Path(folder, s"$batch.before-$number"))
    val file = names.find(!manager.exists(_)).get
    write(file, data, inPlace = false)
    file
  }

  private def write(file: Path, data: Array[Byte], inPlace: Boolean): Unit = {
    makeFolder()
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
          // Many file systems do not overwrite on rename, and this manager ignores the return value.
          if (other.isInstanceOf[FileSystemBasedCheckpointFileManager]) other.delete(file)
          out.close()
        } catch {
          case e: Throwable =>
            out.cancel()
            throw e
        }
    }
  }

  /** Hadoop keeps a checksum file beside a local file. While a file is replaced, the old checksum stays beside it for
    * a moment, and the new file would seem damaged. An entry has its own checksum.
    */
  def forgetChecksum(batch: Long, kind: Kind): Unit = {
    val file = path(batch, kind)
    manager.delete(new Path(file.getParent, s".${file.getName}.crc"))
  }

  def delete(batch: Long, kind: Kind): Unit = {
    ahead.foreach(_.giveUp(path(batch, kind)))
    manager.delete(path(batch, kind))
  }
}

private[tidemark] object EntryFiles {
  val Folder: String = "tidemark"

  sealed abstract class Kind(val suffix: String) extends Serializable

  /** An entry with all splits. */
  case object Whole extends Kind("")

  /** An entry with the splits that have changed. */
  case object Changes extends Kind(".changes")

  /** The state of all splits at the end of a batch, beside its entry. */
  case object States extends Kind(".splits")

  /** The names of these splits. */
  case object Names extends Kind(".names")

  val kinds: Seq[Kind] = Seq(Whole, Changes, States, Names)

  /** @param millis when a file was written, by the clock of its file system */
  final case class Stamp(millis: Long, bytes: Long)

  private object Name {
    def unapply(name: String): Option[(Long, Kind)] = {
      val (digits, suffix) = name.span(_.isDigit)
      // Files with other names are ignored; such a name may have more digits than a number can have.
      for (batch <- digits.toLongOption if batch.toString == digits; kind <- kinds.find(_.suffix == suffix))
        yield batch -> kind
    }
  }
}
