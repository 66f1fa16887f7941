package org.apache.spark.sql.tidemark.log

import java.io.{InterruptedIOException, IOException}
import java.nio.channels.ClosedByInterruptException
import java.util.UUID
import java.util.concurrent.{CompletableFuture, ExecutionException}
import java.util.concurrent.atomic.AtomicReference

import scala.util.Try

import org.apache.hadoop.fs.{FSDataOutputStream, FSError, Path}

import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager
import org.apache.spark.util.ThreadUtils

/** A temporary file that is created, empty, on another thread before there is something to write into it. On a local disk,
  * creating a file takes ten times as long as filling it. Each has a name of its own, which no other run uses. One file at a
  * time. Called on the query's thread, [[abandon]] from any.
  */
private[tidemark] final class PreparedFile(
    manager: CheckpointFileManager with CheckpointFileManager.RenameHelperMethods,
    folder: Path) {
  import PreparedFile._

  private val prepared = new AtomicReference[Option[Prepared]](None)

  def begin(): Unit = if (prepared.get.isEmpty) {
    val file = new Path(folder, s".${UUID.randomUUID}.tmp")
    prepared.set(Some(Prepared(file, CompletableFuture.supplyAsync(() => manager.createTempFile(file), threads))))
  }

  /** Fills the file that was begun and renames it: whether there was one, and it could be filled.
    * @throws org.apache.hadoop.fs.FileAlreadyExistsException if there is such a file
    */
  def renamedTo(file: Path, data: Array[Byte]): Boolean = prepared.getAndSet(None).exists { temporary =>
    try {
      val isFilled = fill(temporary, data)
      if (isFilled) manager.renameTempFile(temporary.file, file, overwriteIfPossible = false)
      else delete(temporary)
      isFilled
    } catch {
      case e: Throwable =>
        delete(temporary)
        throw e
    }
  }

  private def fill(temporary: Prepared, data: Array[Byte]): Boolean =
    try {
      val out = temporary.out.get()
      try out.write(data)
      finally out.close()
      true
    } catch {
      case e @ (_: InterruptedIOException | _: ClosedByInterruptException) => throw e
      // The caller writes another file, which says why it fails.
      case _: IOException | _: ExecutionException | _: FSError => false
    }

  /** Deletes the file that was begun, if it has not been renamed. */
  def abandon(): Unit = prepared.getAndSet(None).foreach(delete)

  private def delete(temporary: Prepared): Unit = {
    val _ = temporary.out.whenComplete { (out, _) =>
      if (out != null) Try(out.close())
      Try(manager.delete(temporary.file))
    }
  }
}

private[tidemark] object PreparedFile {
  // A thread for each query that is creating its file: no query waits for the disk of another.
  private lazy val threads = ThreadUtils.newDaemonCachedThreadPool("tidemark-entries")

  private final case class Prepared(file: Path, out: CompletableFuture[FSDataOutputStream])
}
