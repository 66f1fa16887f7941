package org.apache.spark.sql.tidemark.noted

import java.io.IOException

import scala.util.control.NonFatal

import io.tidemark.core.noted.{Mark, MarkId, Position}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import org.apache.spark.internal.Logging

/** One life of a writer of marks in a folder.
  *
  * Where positions are absolute, a mark that is lost in a damaged file is no more than a mark left out. The files of a lost mark
  * are listed again, because what earlier lives have listed is taken from the marks that can be read.
  */
private[noted] final class MarkLife private (
    folder: MarkFolder,
    store: MarkStore,
    writer: String,
    val epoch: Long,
    past: MarkPast)
    extends WriterLife
    with Logging {
  import MarkLife._

  override def last: Option[MarkId] = past.last
  override def timeMillis: Option[Long] = past.timeMillis
  override def files: Set[String] = past.files

  // The marks since the last sealed file, each with its line.
  private var lines = Vector.empty[(Long, Array[Byte])]
  private var slot = 0
  private var hasWritten = false
  private var hasFiles = past.files.nonEmpty

  override def others: Iterator[(String, Position)] = {
    val files = folder.list().map(_.name).filter(_.writer != writer).groupBy(_.writer)
    files.iterator.flatMap { case (other, names) =>
      names.iterator.flatMap(MarkPast.linesOf(folder, _).marks.flatMap(_.position)).nextOption().map(other -> _)
    }
  }

  override def standing: WriterLife.Standing = {
    // A later life makes its first file before it removes those of this one. So this comes before the other question.
    val isThere = store.has(live(slot))
    if (latestEpoch(store, writer) > epoch) WriterLife.Fenced
    else if (isThere) WriterLife.Current
    else WriterLife.Removed
  }

  override def add(mark: Mark): Unit = {
    hasFiles ||= mark.files.isDefined
    lines :+= mark.number -> MarkText.line(mark)
    if (isFull) {
      val (full, newest) = lines.splitAt(lines.size - 1)
      seal(epoch, full.head._1, full.last._1, full.map(_._2))
      lines = newest
      // Each mark of files says which are new, so a later life needs all of them.
      if (!hasFiles) removeOld(mark.writtenMillis - RetainedMillis)
    }
    if (!hasWritten)
      past.leftovers.foreach(leftover => seal(leftover.epoch, leftover.first, leftover.last, leftover.lines))
    val next = 1 - slot
    store.write(live(next), epoch, lines.flatMap(_._2).toArray)
    slot = next
    if (!hasWritten) {
      hasWritten = true
      past.live.foreach(store.delete)
      store.names.filter(MarkFileName.isLeftover(_, writer, epoch)).foreach(store.delete)
    }
  }

  // Without the newest mark, which stays in the live files.
  private def isFull: Boolean =
    lines.size > MostLive || lines.iterator.map(_._2.length).sum - lines.last._2.length > MostLiveBytes

  private def seal(epoch: Long, first: Long, last: Long, lines: Seq[Array[Byte]]): Unit =
    store.write(MarkFileName.sealedFile(writer, epoch, first, last).text, this.epoch, lines.flatten.toArray)

  /** A sealed file never changes, so its marks are no newer than itself. The newest one stays whatever its age. */
  private def removeOld(beforeMillis: Long): Unit =
    try {
      val mine = folder.list().filter(file => file.name.writer == writer && !file.name.isLive).sortBy(_.name.first)
      // A file with a time stays as long as no later one has any: a new reader needs the last time.
      val needed = mine.lastIndexWhere(file => MarkPast.linesOf(folder, file.name).marks.exists(_.timeMillis.isDefined))
      mine.take(needed).takeWhile(_.modifiedMillis < beforeMillis).foreach(file => store.delete(file.name.text))
    } catch {
      case NonFatal(e) => logWarning(s"Tidemark: writer '$writer' could not remove old marks.", e)
    }

  private def live(slot: Int): String = MarkFileName.live(writer, epoch, slot).text
}

private[noted] object MarkLife {

  private val MostLive = 256
  private val MostLiveBytes = 1 << 18
  private val RetainedMillis = 7L * 24 * 60 * 60 * 1000

  /** Claims an epoch that is larger than all before and no smaller than the clock.
    * @throws java.io.IOException if the folder cannot be read or written
    */
  def begin(location: Path, conf: Configuration, writer: String, nowMillis: Long): MarkLife = {
    val store = MarkStore(location, conf)
    val folder = new MarkFolder(location, conf)
    store.make()
    @scala.annotation.tailrec
    def claimed(epoch: Long): MarkLife = {
      if (epoch == Long.MaxValue) throw new IOException(s"a file of writer '$writer' has the largest epoch")
      val claim = MarkFileName.live(writer, epoch, 0).text
      // On some file systems a name may be taken and not be listed yet.
      if (!store.claim(claim)) claimed(epoch + 1)
      else {
        // Read after the claim: a life that begins now either sees this one or is seen.
        val life =
          try new MarkLife(folder, store, writer, epoch, MarkPast.of(folder, writer, epoch))
          catch { case e: IOException => store.delete(claim); throw e }
        val latest = latestEpoch(store, writer)
        if (latest == epoch) life
        else {
          store.delete(claim)
          claimed(latest + 1)
        }
      }
    }
    claimed(math.max(nowMillis, latestEpoch(store, writer) + 1))
  }

  /** The largest epoch in the names of a writer's files, also of those that were purged; -1 if there is none. */
  private def latestEpoch(store: MarkStore, writer: String): Long = {
    val names = store.names.filter(_.startsWith(s"${MarkFileName.encode(writer)}."))
    val own = (names.flatMap(MarkFileName.parse) ++ names.flatMap(MarkFileName.parsePurged)).filter(_.writer == writer)
    own.map(_.epoch).maxOption.getOrElse(-1L)
  }
}
