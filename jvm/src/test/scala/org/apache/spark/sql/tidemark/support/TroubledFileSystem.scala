package org.apache.spark.sql.tidemark.support

import java.io.{FilterOutputStream, IOException, OutputStream}

import org.apache.hadoop.fs.{FSDataOutputStream, Path}
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.util.Progressable

import org.apache.spark.sql.tidemark.log.EntryFiles

/** A local file system with which something is wrong where it is about Tidemark's entries. */
class TroubledFileSystem extends UnforkedFileSystem {
  import TroubledFileSystem._

  override def create(
      file: Path,
      permission: FsPermission,
      overwrite: Boolean,
      bufferSize: Int,
      replication: Short,
      blockSize: Long,
      progress: Progressable): FSDataOutputStream = {
    if (isEntry(file) && trouble == ReadOnly) throw new IOException("Read-only file system")
    val out = super.create(file, permission, overwrite, bufferSize, replication, blockSize, progress)
    if (isEntry(file) && trouble == Full) new FSDataOutputStream(new Filling(out), null) else out
  }

  override def rename(from: Path, to: Path): Boolean = trouble match {
    case EndsInRename(half) if isEntry(to) =>
      val in = open(from)
      val bytes =
        try in.readAllBytes()
        finally in.close()
      delete(to, false)
      if (half) {
        val out = create(to)
        try out.write(bytes.take(bytes.length / 2))
        finally out.close()
      }
      throw new Killed
    case NeverReplaces if isEntry(to) && exists(to) => false
    case _ => super.rename(from, to)
  }
}

object TroubledFileSystem {
  sealed trait Trouble
  case object NoTrouble extends Trouble

  /** A file is begun, and there is room for a few bytes of it. */
  case object Full extends Trouble
  case object ReadOnly extends Trouble

  /** A file that is replaced is missing for a moment. Then half of the new one is written, and the driver ends. */
  final case class EndsInRename(half: Boolean) extends Trouble

  /** As HDFS and object stores: nothing is renamed onto a file that exists. */
  case object NeverReplaces extends Trouble

  final class Killed extends RuntimeException("the driver is killed")

  @volatile var trouble: Trouble = NoTrouble

  def during[A](what: Trouble)(body: => A): A = {
    trouble = what
    try body
    finally trouble = NoTrouble
  }

  private def isEntry(file: Path) = file.getParent.getName == EntryFiles.Folder

  private final class Filling(out: OutputStream) extends FilterOutputStream(out) {
    override def write(bytes: Array[Byte], from: Int, size: Int): Unit = {
      out.write(bytes, from, math.min(size, 20))
      throw new IOException("No space left on device")
    }
  }
}
