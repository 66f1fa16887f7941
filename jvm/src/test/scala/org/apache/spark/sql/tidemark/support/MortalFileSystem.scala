package org.apache.spark.sql.tidemark.support

import java.nio.file.Files
import java.util.concurrent.ConcurrentLinkedQueue

import org.apache.hadoop.fs.{FSDataOutputStream, Path}
import org.apache.hadoop.fs.permission.FsPermission

import org.apache.spark.sql.tidemark.log.EntryFiles

/** A local file system whose process ends before or after one of the changes that it makes to a log of a checkpoint:
  * Spark's or Tidemark's. From then on, nothing more is changed. Reads go on, as nothing follows from them.
  */
class MortalFileSystem extends CreatingFileSystem {
  import MortalFileSystem._

  override protected def creating(file: Path)(create: => FSDataOutputStream): FSDataOutputStream =
    change("create", file)(create)

  override def mkdirs(folder: Path, permission: FsPermission): Boolean =
    change("mkdirs", folder)(super.mkdirs(folder, permission))

  override def delete(file: Path, recursive: Boolean): Boolean = change("delete", file)(super.delete(file, recursive))

  override def rename(from: Path, to: Path): Boolean = renames match {
    case Atomic => change("rename", to)(super.rename(from, to))
    case CopyAndDelete =>
      if (exists(to)) false
      else {
        change("copy", to)(copy(from, to))
        change("delete", from)(super.delete(from, false))
      }
  }

  private def copy(from: Path, to: Path): Unit = {
    val _ =
      Files.move(Files.copy(pathToFile(from).toPath, pathToFile(from.suffix(".copy")).toPath), pathToFile(to).toPath)
  }
}

object MortalFileSystem {
  sealed trait Renames

  /** As on a local disk and on HDFS. */
  case object Atomic extends Renames

  /** As on many object stores, which never replace a file. A copy appears whole. */
  case object CopyAndDelete extends Renames

  final class Killed extends RuntimeException("the process is killed")

  @volatile var renames: Renames = Atomic

  private val logs = Set("offsets", "commits", EntryFiles.Folder)

  // How many changes are made before the end.
  @volatile private var left = Long.MaxValue
  @volatile private var isLastMade = false

  /** The changes that were made, such as `create tidemark/3`. */
  val made = new ConcurrentLinkedQueue[String]

  /** The process ends with its change of this number, from 0.
    * @param isLastMade whether that change has been made then
    */
  def dyingAt(change: Long, isLastMade: Boolean)(body: => Unit): Unit = {
    made.clear()
    this.isLastMade = isLastMade
    left = change
    try body
    finally left = Long.MaxValue
  }

  /** Called before each change that is made to a file, with what is done. It may wait. */
  @volatile var before: (String, Path) => Unit = (_, _) => ()

  /** Whether the process has ended. */
  def isDead: Boolean = left < 0

  private def change[A](what: String, file: Path)(make: => A): A = {
    before(what, file)
    if (left < 0) throw new Killed
    if (!logs(file.getParent.getName)) make
    else counted(what, file)(make)
  }

  private def counted[A](what: String, file: Path)(make: => A): A = synchronized {
    if (left < 0) throw new Killed
    left -= 1
    val isLast = left < 0
    if (isLast && !isLastMade) throw new Killed
    val result = make
    made.add(s"$what ${file.getParent.getName}/${file.getName}")
    if (isLast) throw new Killed
    result
  }
}
