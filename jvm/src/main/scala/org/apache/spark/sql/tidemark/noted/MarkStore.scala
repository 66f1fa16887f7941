package org.apache.spark.sql.tidemark.noted

import java.io.FileNotFoundException
import java.nio.ByteBuffer
import java.nio.channels.FileChannel
import java.nio.file.{
  DirectoryIteratorException,
  FileAlreadyExistsException,
  Files,
  NoSuchFileException,
  Path => LocalPath,
  Paths,
  StandardCopyOption,
  StandardOpenOption
}
import java.nio.file.attribute.BasicFileAttributes

import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileAlreadyExistsException => Taken, Path}

import org.apache.spark.sql.execution.streaming.checkpointing.{
  CheckpointFileManager,
  FileSystemBasedCheckpointFileManager
}

/** The folder of a mark log, as a writer needs it. All methods may throw a `java.io.IOException`. */
private[noted] trait MarkStore {

  /** Creates the folder if it does not exist. */
  def make(): Unit

  /** None if there is no folder. */
  def names: Seq[String]

  def has(name: String): Boolean

  /** Creates an empty file; false if it exists already. */
  def claim(name: String): Boolean

  /** Makes or replaces a file. Readers see it whole or not at all.
    * @param epoch of the life that writes: no two lives have one temporary file
    */
  def write(name: String, epoch: Long, bytes: Array[Byte]): Unit

  def delete(name: String): Unit
}

private[noted] object MarkStore {

  def apply(folder: Path, conf: Configuration): MarkStore = {
    val qualified = folder.getFileSystem(conf).makeQualified(folder)
    if (qualified.toUri.getScheme == "file") new Local(Paths.get(qualified.toUri.getPath))
    else new Remote(qualified, conf)
  }

  /** A local disk. Hadoop would put a checksum file beside each file, which is wrong for a moment while one is replaced. */
  private final class Local(folder: LocalPath) extends MarkStore {
    override def make(): Unit = { Files.createDirectories(folder); () }

    override def names: Seq[String] =
      try
        Using.resource(Files.newDirectoryStream(folder)) { all =>
          val found = Seq.newBuilder[String]
          all.forEach(path => found += path.getFileName.toString)
          found.result()
        }
      catch {
        case _: NoSuchFileException => Nil
        case e: DirectoryIteratorException => throw e.getCause
      }

    // `Files.exists` is also false for a file whose attributes cannot be read, such as on a disk that is away.
    override def has(name: String): Boolean =
      try { Files.readAttributes(folder.resolve(name), classOf[BasicFileAttributes]); true }
      catch { case _: NoSuchFileException => false }

    override def claim(name: String): Boolean =
      try { Files.createFile(folder.resolve(name)); true }
      catch { case _: FileAlreadyExistsException => false }

    override def write(name: String, epoch: Long, bytes: Array[Byte]): Unit = {
      val temporary = folder.resolve(s".$name.$epoch.tmp")
      val options = Seq(StandardOpenOption.CREATE, StandardOpenOption.WRITE, StandardOpenOption.TRUNCATE_EXISTING)
      Using.resource(FileChannel.open(temporary, options: _*)) { file =>
        val rest = ByteBuffer.wrap(bytes)
        while (rest.hasRemaining) file.write(rest)
        file.force(true)
      }
      Files.move(temporary, folder.resolve(name), StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING)
      // The file's name is durable once its folder is.
      Using.resource(FileChannel.open(folder, StandardOpenOption.READ))(_.force(true))
    }

    override def delete(name: String): Unit = { Files.deleteIfExists(folder.resolve(name)); () }
  }

  /** Any other file system, through Spark's own way to write checkpoints. */
  private final class Remote(folder: Path, conf: Configuration) extends MarkStore {
    private lazy val manager = CheckpointFileManager.create(folder, conf)

    override def make(): Unit = if (!manager.exists(folder)) manager.mkdirs(folder)

    override def names: Seq[String] =
      try manager.list(folder).toSeq.map(_.getPath.getName)
      catch { case _: FileNotFoundException => Nil }

    override def has(name: String): Boolean = manager.exists(new Path(folder, name))

    override def claim(name: String): Boolean =
      if (has(name)) false
      else
        try { manager.createAtomic(new Path(folder, name), overwriteIfPossible = false).close(); true }
        catch { case _: Taken => false }

    override def write(name: String, epoch: Long, bytes: Array[Byte]): Unit = {
      val file = new Path(folder, name)
      val out = manager.createAtomic(file, overwriteIfPossible = true)
      try {
        out.write(bytes)
        // Many file systems do not overwrite on rename, and this manager ignores the return value. The other live file is
        // whole meanwhile.
        if (manager.isInstanceOf[FileSystemBasedCheckpointFileManager]) manager.delete(file)
        out.close()
      } catch {
        case e: Throwable =>
          out.cancel()
          throw e
      }
    }

    override def delete(name: String): Unit = manager.delete(new Path(folder, name))
  }
}
