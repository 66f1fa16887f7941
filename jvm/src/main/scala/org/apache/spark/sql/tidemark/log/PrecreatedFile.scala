package org.apache.spark.sql.tidemark.log

import java.io.{InterruptedIOException, IOException}
import java.nio.channels.ClosedByInterruptException
import java.util.concurrent.{CompletableFuture, ConcurrentHashMap, ExecutionException}
import java.util.concurrent.atomic.AtomicReference

import scala.util.Try

import org.apache.hadoop.fs.{FileAlreadyExistsException, FSDataOutputStream, Path}

import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager
import org.apache.spark.util.ThreadUtils

/** A file that is made, empty, before there is something to write into it, beside the query's thread: on a local disk to
  * make one takes ten times as long as to fill it. One at a time. Called on the query's thread, [[abandon]] from any.
  */
private[tidemark] final class PrecreatedFile(manager: CheckpointFileManager
  with CheckpointFileManager.RenameHelperMethods) {
  import PrecreatedFile._

  private val begun = new AtomicReference[Option[Begun]](None)

  def begin(file: Path): Unit = if (!begun.get.exists(_.file == file)) {
    abandon()
    owners.put(file, this)
    begun.set(Some(Begun(file, CompletableFuture.supplyAsync(() => make(file), threads))))
  }

  // What is there may be another driver's, and count.
  private def make(file: Path): FSDataOutputStream = {
    var made = Option.empty[FSDataOutputStream]
    whileOwned(file) {
      if (!manager.exists(file)) made = Some(manager.createTempFile(file))
      this
    }
    made.getOrElse(throw new FileAlreadyExistsException(file.toString))
  }

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

  /** Lets go of a file that has not been filled: it goes, unless somebody else has written it. */
  def abandon(): Unit = begun.getAndSet(None).foreach(abandon)

  private def abandon(one: Begun): Unit = {
    val _ = one.out.whenComplete { (made, _) =>
      if (made != null) Try(made.close())
      whileOwned(one.file) {
        Try(if (manager.exists(one.file) && manager.list(one.file).forall(_.getLen == 0)) manager.delete(one.file))
        null
      }
    }
  }

  private def take(file: Path): Option[FSDataOutputStream] = begun.get match {
    case taken @ Some(one) if one.file == file && begun.compareAndSet(taken, None) =>
      try {
        val made = one.out.get()
        claim(file)
        Some(made)
      } catch {
        case _: ExecutionException => None
        case e: InterruptedException =>
          abandon(one)
          throw e
      }
    case _ => None
  }

  private def whileOwned(file: Path)(afterwards: => PrecreatedFile): Unit = {
    val _ = owners.computeIfPresent(file, (_, owner) => if (owner eq this) afterwards else owner)
  }
}

private[tidemark] object PrecreatedFile {
  // One for each query that is just making its file: none waits for another's disk.
  private lazy val threads = ThreadUtils.newDaemonCachedThreadPool("tidemark-entries")

  // Who has begun a file that nobody has written yet: a run that has ended lets go of it a little later, when the next one
  // may have come to it.
  private val owners = new ConcurrentHashMap[Path, PrecreatedFile]

  /** Said before a file is written by anybody: who has begun it has no say in it any more. */
  def claim(file: Path): Unit = {
    val _ = owners.remove(file)
  }

  /** All that is to be in a file. */
  def write(out: FSDataOutputStream, data: Array[Byte]): Unit =
    try out.write(data)
    finally out.close()

  private final case class Begun(file: Path, out: CompletableFuture[FSDataOutputStream])
}
