package org.apache.spark.sql.tidemark.log

import java.io.{FileNotFoundException, InterruptedIOException, IOException}
import java.nio.channels.ClosedByInterruptException

import io.tidemark.{CheckpointErrors, TidemarkException}
import io.tidemark.core.bytes.{ByteWriter, Damaged}
import io.tidemark.core.format.SectionFormat

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{ChecksumException, FileAlreadyExistsException, FSError, Path}

import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager

/** The files in the `tidemark` folder of a query's checkpoint: a few for each batch, of different kinds.
  *
  * Each file is created once, whole, and never changed: Spark's [[CheckpointFileManager]] creates its own logs in the same
  * way. So this works on every file system that Spark can checkpoint to, and a kill leaves a file or no file. It does not
  * know which files exist, apart from [[list]]. [[begin]] and [[delete]] are called on the query's own thread, all other
  * methods from any thread.
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

  // Only local disks need it. Elsewhere a file that is open for long may be closed by others.
  private lazy val ahead = manager match {
    case local: CheckpointFileManager with CheckpointFileManager.RenameHelperMethods
        if folder.toUri.getScheme == "file" =>
      Some(new PreparedFile(local, folder))
    case _ => None
  }

  def path(batch: Long, kind: Kind): Path = new Path(folder, s"$batch${kind.suffix}")

  def exists(batch: Long, kind: Kind): Boolean = manager.exists(path(batch, kind))

  /** Applies a reader to a file, and turns damage into the error that names the file.
    *
    * @param listedBytes its bytes when the folder was listed
    * @throws TidemarkException if the file is not what was written, or cannot be read
    * @throws FileNotFoundException if it has been deleted since it was listed
    */
  def reading[A](batch: Long, kind: Kind, listedBytes: Long)(read: Array[Byte] => A): A = {
    val file = path(batch, kind)
    val bytes = readBytes(file, listedBytes)
    try read(bytes)
    catch {
      case e: SectionFormat.Newer =>
        throw new TidemarkException(CheckpointErrors.EntryNewer(file.toString, e.version, SectionFormat.Version), e)
      case e: Damaged => throw damaged(file, e.why, e)
    }
  }

  private def readBytes(file: Path, listedBytes: Long): Array[Byte] = {
    // Checked before memory is allocated for the file.
    if (listedBytes > ByteWriter.Most)
      throw damaged(file, s"it is $listedBytes bytes long, which no entry can be")
    val bytes =
      try {
        val in = manager.open(file)
        try in.readAllBytes()
        finally in.close()
      } catch {
        case e: ChecksumException => throw damaged(file, "its checksum does not match its checksum file", e)
        case e @ (_: InterruptedIOException | _: ClosedByInterruptException) => throw e
        // File systems say very different things of a folder that is opened.
        case e: IOException if isFolder(file) => throw notRead(file, "it is a folder", e)
        case e: FileNotFoundException if !manager.exists(file) => throw e
        // Hadoop's local file system throws an error of its own where the disk fails.
        case e @ (_: IOException | _: FSError) => throw notRead(file, e.getMessage, e)
      }
    if (bytes.isEmpty) throw new TidemarkException(CheckpointErrors.EntryEmpty(file.toString))
    bytes
  }

  private def isFolder(file: Path): Boolean =
    try manager.list(file.getParent, (path: Path) => path.getName == file.getName).exists(_.isDirectory)
    catch { case _: IOException => false }

  private def notRead(file: Path, why: String, cause: Throwable) =
    new TidemarkException(CheckpointErrors.EntryNotRead(file.toString, why), cause)

  private def damaged(file: Path, why: String, cause: Throwable = null) =
    new TidemarkException(CheckpointErrors.EntryDamaged(file.toString, why), cause)

  /** Prepares a file for the next entry, if the file system is slow to create files. */
  def begin(): Unit = ahead.foreach(_.begin())

  /** Deletes a file that was prepared and not used. From any thread. */
  def abandon(): Unit = ahead.foreach(_.abandon())

  /** Creates a file, which is durable when this returns.
    *
    * @return whether it was created: an existing file stays as it is
    * @throws TidemarkException if the file system refuses it
    */
  def create(batch: Long, kind: Kind, data: Array[Byte]): Boolean = {
    val file = path(batch, kind)
    try {
      makeFolder()
      if (!ahead.exists(_.renamedTo(file, data))) createAtomic(file, data)
      true
    } catch {
      case _: FileAlreadyExistsException if manager.exists(file) => false
      // An interrupt is how Spark stops a query.
      case e @ (_: InterruptedIOException | _: ClosedByInterruptException) => throw e
      case e @ (_: IOException | _: FSError) =>
        throw new TidemarkException(CheckpointErrors.EntryNotWritten(file.toString, e.getMessage), e)
    }
  }

  private def createAtomic(file: Path, data: Array[Byte]): Unit = {
    val out = manager.createAtomic(file, overwriteIfPossible = false)
    try {
      out.write(data)
      out.close()
    } catch {
      case e: Throwable =>
        out.cancel()
        throw e
    }
  }

  def delete(batch: Long, kind: Kind): Unit = manager.delete(path(batch, kind))
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

  /** An entry with all splits, as a person has corrected it. It counts in the place of the entry of its batch, and of the
    * corrections before it.
    * @param number from 1
    */
  final case class Corrected(number: Int) extends Kind(s".corrected-$number")

  private val Correction = """\.corrected-([1-9]\d{0,8})""".r

  private def kind(suffix: String): Option[Kind] = suffix match {
    case Correction(number) => Some(Corrected(number.toInt))
    case _ => Seq(Whole, Changes, States, Names).find(_.suffix == suffix)
  }

  private object Name {
    def unapply(name: String): Option[(Long, Kind)] = {
      val (digits, suffix) = name.span(_.isDigit)
      // Files with other names are ignored; such a name may have more digits than a number can have.
      for (batch <- digits.toLongOption if batch.toString == digits; kind <- kind(suffix))
        yield batch -> kind
    }
  }
}
