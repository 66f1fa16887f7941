package org.apache.spark.sql.tidemark.support

import java.io.{FilterOutputStream, IOException, OutputStream}

import org.apache.hadoop.fs.{FSDataOutputStream, FSError, Path}

import org.apache.spark.sql.tidemark.log.EntryFiles

/** A local file system with which something is wrong where it is about Tidemark's entries. */
class TroubledFileSystem extends CreatingFileSystem {
  import TroubledFileSystem._

  override protected def creating(file: Path)(create: => FSDataOutputStream): FSDataOutputStream = {
    if (isEntry(file) && trouble == ReadOnly) throw new IOException("Read-only file system")
    val out = create
    if (isEntry(file) && trouble == Full) new FSDataOutputStream(new Filling(out), null) else out
  }
}

object TroubledFileSystem {
  sealed trait Trouble
  case object NoTrouble extends Trouble

  /** A file is begun, and there is room for a few bytes of it. */
  case object Full extends Trouble
  case object ReadOnly extends Trouble

  @volatile var trouble: Trouble = NoTrouble

  def during[A](what: Trouble)(body: => A): A = {
    trouble = what
    try body
    finally trouble = NoTrouble
  }

  /** What Hadoop's local file system throws, which is not an IOException. */
  private def diskError(what: String): FSError = {
    val constructor = classOf[FSError].getDeclaredConstructor(classOf[Throwable])
    constructor.setAccessible(true)
    constructor.newInstance(new IOException(what))
  }

  private def isEntry(file: Path) = file.getParent.getName == EntryFiles.Folder

  private final class Filling(out: OutputStream) extends FilterOutputStream(out) {
    override def write(bytes: Array[Byte], from: Int, size: Int): Unit = {
      out.write(bytes, from, math.min(size, 20))
      throw diskError("No space left on device")
    }
  }
}
