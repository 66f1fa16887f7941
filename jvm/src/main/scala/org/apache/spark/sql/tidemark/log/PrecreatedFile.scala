package org.apache.spark.sql.tidemark.log

import java.io.{InterruptedIOException, IOException}
import java.nio.channels.ClosedByInterruptException
import java.util.concurrent.{CompletableFuture, ConcurrentHashMap, ExecutionException}
import java.util.concurrent.atomic.AtomicReference

import scala.annotation.tailrec
import scala.util.Try

import org.apache.hadoop.fs.{FileAlreadyExistsException, FSDataOutputStream, Path}

import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager
import org.apache.spark.util.ThreadUtils

/** A file that is created, empty, on another thread before there is something to write into it. On a local disk, creating a
  * file takes ten times as long as filling it. One file at a time. Called on the query's thread, [[abandon]] from any.
  */
private[tidemark] final class PrecreatedFile(manager: CheckpointFileManager
  with CheckpointFileManager.RenameHelperMethods) {
  import PrecreatedFile._

  private val begun = new AtomicReference[Option[Begun]](None)

  def begin(file: Path): Unit = if (!begun.get.exists(_.file == file)) {
    abandon()
    val ownership = Ownership.to(file)
    begun.set(Some(Begun(ownership, CompletableFuture.supplyAsync(() => create(ownership), threads))))
  }

  // A file that exists may be another driver's entry, and must stay.
  private def create(ownership: Ownership): FSDataOutputStream =
    ownership.whileHeld(Option.unless(manager.exists(ownership.file))(manager.createTempFile(ownership.file)))
      .flatten.getOrElse(throw new FileAlreadyExistsException(ownership.file.toString))

  /** Writes the file that was begun: whether it was this one, and could be written. */
  def fill(file: Path, data: Array[Byte]): Boolean = take(file).exists { out =>
    try {
      write(out, data)
      true
    } catch {
      case e @ (_: InterruptedIOException | _: ClosedByInterruptException) => throw e
      // The caller writes it again, which says why it fails.
      case _: IOException => false
    }
  }

  /** The file is not wanted. It exists, if it could be created. */
  def giveUp(file: Path): Unit = take(file).foreach(out => Try(out.close()))

  /** Deletes a file that has not been filled, unless another run has written it. */
  def abandon(): Unit = begun.getAndSet(None).foreach(abandon)

  private def abandon(precreated: Begun): Unit = {
    val _ = precreated.out.whenComplete { (created, _) =>
      if (created != null) Try(created.close())
      val file = precreated.file
      precreated.ownership.whileHeld {
        Try(if (manager.exists(file) && manager.list(file).forall(_.getLen == 0)) manager.delete(file))
      }
      precreated.ownership.end()
    }
  }

  private def take(file: Path): Option[FSDataOutputStream] = begun.get match {
    case taken @ Some(precreated) if precreated.file == file && begun.compareAndSet(taken, None) =>
      try {
        val created = precreated.out.get()
        claim(file)
        Some(created)
      } catch {
        case _: ExecutionException =>
          precreated.ownership.end()
          None
        case e: InterruptedException =>
          abandon(precreated)
          throw e
      }
    case _ => None
  }
}

private[tidemark] object PrecreatedFile {
  // A thread for each query that is creating its file: no query waits for the disk of another.
  private lazy val threads = ThreadUtils.newDaemonCachedThreadPool("tidemark-entries")

  /** Called before a file is written. The run that created it empty gives it up. */
  def claim(file: Path): Unit = Ownership.end(file)

  /** Writes all that is to be in a file. */
  def write(out: FSDataOutputStream, data: Array[Byte]): Unit =
    try out.write(data)
    finally out.close()

  private final case class Begun(ownership: Ownership, out: CompletableFuture[FSDataOutputStream]) {
    def file: Path = ownership.file
  }

  /** Allows one run to create and delete a file that has not been written yet. It ends for good when a run claims the
    * file, or begins it again.
    *
    * A run that has stopped deletes its file on another thread, perhaps after the next run has claimed the same path. Each
    * ownership has a lock of its own, so a slow file system delays only the runs that want the same file.
    */
  private final class Ownership(val file: Path) {
    private var isHeld = true

    /** Works on the file, unless the ownership has ended. It does not end in the meantime. */
    def whileHeld[A](work: => A): Option[A] = synchronized(Option.when(isHeld)(work))

    /** When this returns, this ownership no longer works on the file. */
    def end(): Unit = {
      synchronized { isHeld = false }
      val _ = Ownership.held.remove(file, this)
    }
  }

  private object Ownership {
    private val held = new ConcurrentHashMap[Path, Ownership]

    /** Ends the ownership of a file, if there is one. */
    def end(file: Path): Unit = Option(held.get(file)).foreach(_.end())

    @tailrec def to(file: Path): Ownership = {
      end(file)
      val ownership = new Ownership(file)
      if (held.putIfAbsent(file, ownership) == null) ownership else to(file)
    }
  }
}
