package org.apache.spark.sql.tidemark

import java.io.{InterruptedIOException, IOException}
import java.nio.channels.ClosedByInterruptException
import java.util.concurrent.{CompletableFuture, ExecutionException}
import java.util.concurrent.atomic.AtomicReference

import scala.util.Try

import org.apache.hadoop.fs.{FileAlreadyExistsException, FSDataOutputStream, Path}

import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager
import org.apache.spark.util.ThreadUtils

/** A file that is made, empty, before there is something to write into it, beside the query's thread: on a local disk to
  * make one takes ten times as long as to fill it. One at a time. Called on the query's thread, [[close]] from any.
  */
private[tidemark] final class FileAhead(manager: CheckpointFileManager with CheckpointFileManager.RenameHelperMethods) {
  import FileAhead._

  private val begun = new AtomicReference[Option[Begun]](None)

  def begin(file: Path): Unit = if (!begun.get.exists(_.file == file)) {
    close()
    begun.set(Some(Begun(file, CompletableFuture.supplyAsync(() => make(file), threads))))
  }

  // What is there may be another driver's, and count.
  private def make(file: Path): FSDataOutputStream =
    if (manager.exists(file)) throw new FileAlreadyExistsException(file.toString) else manager.createTempFile(file)

  /** Writes it, if it is the one that was begun, and still takes it. */
  def fill(file: Path, data: Array[Byte]): Boolean = take(file).exists { out =>
    try {
      write(out, data)
      true
    } catch {
      case e @ (_: InterruptedIOException | _: ClosedByInterruptException) => throw e
      // To write it anew says why.
      case _: IOException => false
    }
  }

  /** The file is not wanted; it is there, if it could be made. */
  def giveUp(file: Path): Unit = take(file).foreach(out => Try(out.close()))

  /** The file goes, unless somebody else has written it. */
  def abandon(): Unit = begun.get.map(_.file).foreach { file =>
    giveUp(file)
    if (manager.exists(file) && manager.list(file).forall(_.getLen == 0)) manager.delete(file)
  }

  /** Lets go of a file that has not been filled. */
  def close(): Unit = begun.getAndSet(None).foreach(one => closeWhenMade(one.out))

  private def take(file: Path): Option[FSDataOutputStream] =
    begun.get.filter(_.file == file).flatMap { one =>
      begun.set(None)
      try Some(one.out.get())
      catch {
        case _: ExecutionException => None
        case e: InterruptedException =>
          closeWhenMade(one.out)
          throw e
      }
    }

  private def closeWhenMade(out: CompletableFuture[FSDataOutputStream]): Unit = {
    val _ = out.whenComplete((made, _) => if (made != null) made.close())
  }
}

private[tidemark] object FileAhead {
  // One for each query that is just making its file: none waits for another's disk.
  private lazy val threads = ThreadUtils.newDaemonCachedThreadPool("tidemark-entries")

  /** All that is to be in a file. */
  def write(out: FSDataOutputStream, data: Array[Byte]): Unit =
    try out.write(data)
    finally out.close()

  private final case class Begun(file: Path, out: CompletableFuture[FSDataOutputStream])
}
