package org.apache.spark.sql.tidemark.log

import java.util.concurrent.{CompletableFuture, ExecutionException}

import io.tidemark.core.OriginName
import io.tidemark.core.format.{EntryCodec, SplitsSnapshot}
import io.tidemark.core.splits.Splits

import org.apache.spark.internal.Logging
import org.apache.spark.util.ThreadUtils

/** Writes snapshots of a query's splits, one at a time, beside the query's thread: no batch waits for one, and no query for
  * the snapshot of another. Called on the query's thread.
  */
private[tidemark] final class SnapshotWriter(files: EntryFiles) extends Logging {
  import EntryFiles._
  import SnapshotWriter._

  private var running = Option.empty[CompletableFuture[Snapshot]]
  private var last = Option.empty[Snapshot]

  /** One that is there now, and was not when this was last asked. */
  def done(): Option[Snapshot] = running.filter(_.isDone).flatMap { ended =>
    running = None
    try {
      val snapshot = ended.get()
      files.note(snapshot.batch, States)
      files.note(snapshot.names.batch, Names)
      last = Some(snapshot)
      Some(snapshot)
    } catch {
      // Nothing is lost: the changes are there, and are read one by one until there is a snapshot.
      case e: ExecutionException =>
        logWarning(s"A snapshot of splits could not be written to ${files.path(0, States).getParent}", e.getCause)
        None
    }
  }

  /** Begins one, if none is being written. */
  def begin(entry: EntryCodec.Written): Unit = if (running.isEmpty) {
    val before = last.map(_.names)
    running = Some(CompletableFuture.supplyAsync(() => write(entry, before), threads))
  }

  private def write(written: EntryCodec.Written, before: Option[NamesFile]): Snapshot = {
    val batch = written.entry.batch
    val splits = written.entry.origins.map { case (name, state) => name -> state.splits }
    val names = before.filter(_.fits(splits)).getOrElse {
      val data = SplitsSnapshot.encodeNames(written.entry)
      files.write(batch, Names, data, inPlace = false)
      NamesFile(batch, SplitsSnapshot.checksumOf(data), splits)
    }
    val states = SplitsSnapshot.encode(written, (names.batch, names.checksum))
    files.write(batch, States, states, inPlace = false)
    Snapshot(batch, states.length, names)
  }
}

private[tidemark] object SnapshotWriter {
  // One for each query that has a snapshot to write; they end when they have nothing to do.
  private lazy val threads = ThreadUtils.newDaemonCachedThreadPool("tidemark-snapshots")

  /** @param batch whose splits it shows; @param size bytes without the names */
  final case class Snapshot(batch: Long, size: Int, names: NamesFile)

  /** @param splits those that it names */
  final case class NamesFile(batch: Long, checksum: Int, splits: Map[OriginName, Splits]) {
    def fits(now: Map[OriginName, Splits]): Boolean =
      now.keySet == splits.keySet && now.forall { case (name, all) => all.hasNamesOf(splits(name)) }
  }
}
