package org.apache.spark.sql.tidemark.log

import java.util.concurrent.{CompletableFuture, ExecutionException}

import io.tidemark.core.OriginName
import io.tidemark.core.format.{EntryCodec, SplitsSnapshot}
import io.tidemark.core.splits.{SplitNameTable, Splits}

import org.apache.spark.internal.Logging
import org.apache.spark.util.ThreadUtils

/** Writes snapshots of a query's splits, one at a time, on a thread of their own. No batch waits for a snapshot, and no query
  * waits for the snapshot of another. Called on the query's thread.
  */
private[tidemark] final class SnapshotWriter(files: EntryFiles) extends Logging {
  import EntryFiles._
  import SnapshotWriter._

  private var running = Option.empty[CompletableFuture[Snapshot]]
  private var last = Option.empty[Snapshot]

  /** A snapshot that has been completed since the last call. */
  def done(): Option[Snapshot] = running.filter(_.isDone).flatMap { ended =>
    running = None
    try {
      val snapshot = ended.get()
      last = Some(snapshot)
      Some(snapshot)
    } catch {
      // Nothing is lost: a restart reads the changes one by one until there is a snapshot.
      case e: ExecutionException if e.getCause.isInstanceOf[AnotherRuns] => None
      case e: ExecutionException =>
        logWarning(s"A snapshot of splits could not be written to ${files.path(0, States).getParent}", e.getCause)
        None
    }
  }

  /** Begins a snapshot, unless one is being written. It shows a copy, because the splits change while it is written. */
  def begin(entry: EntryCodec.Written): Unit = if (running.isEmpty) {
    val before = last.map(_.names)
    val shown = entry.copy(entry = entry.entry.detached)
    running = Some(CompletableFuture.supplyAsync(() => write(shown, before), threads))
  }

  private def write(written: EntryCodec.Written, before: Option[NamesFile]): Snapshot = {
    val batch = written.entry.batch
    val splits = written.entry.origins.map { case (name, state) => name -> state.splits }
    val names = before.filter(_.fits(splits)).getOrElse {
      val data = SplitsSnapshot.encodeNames(written.entry)
      create(batch, Names, data)
      NamesFile(batch, SplitsSnapshot.checksumOf(data), splits.map { case (name, all) => name -> all.names })
    }
    val states = SplitsSnapshot.encode(written, (names.batch, names.checksum))
    create(batch, States, states)
    Snapshot(batch, states.length, names)
  }

  // Another driver on the same checkpoint has written the same. Its names may have other numbers.
  private def create(batch: Long, kind: Kind, data: Array[Byte]): Unit =
    if (!files.create(batch, kind, data)) throw new AnotherRuns
}

private[tidemark] object SnapshotWriter {
  // A thread for each query that is writing a snapshot. A thread ends when it has had nothing to do for a minute.
  private lazy val threads = ThreadUtils.newDaemonCachedThreadPool("tidemark-snapshots")

  private final class AnotherRuns extends RuntimeException

  /** @param batch whose splits it shows; @param size bytes without the names */
  final case class Snapshot(batch: Long, size: Int, names: NamesFile)

  /** @param names what it has: the splits' names, and nothing of their clocks */
  final case class NamesFile(batch: Long, checksum: Int, names: Map[OriginName, SplitNameTable]) {
    def fits(now: Map[OriginName, Splits]): Boolean =
      now.keySet == names.keySet && now.forall { case (name, all) => all.hasNames(names(name)) }
  }
}
