package org.apache.spark.sql.tidemark.sources

import java.io.FileNotFoundException

import scala.util.Try

import io.tidemark.core.noted.SourcePosition

import org.apache.hadoop.fs.Path

import org.apache.spark.paths.SparkPath
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.streaming.runtime.FileStreamSource
import org.apache.spark.sql.execution.streaming.sinks.{FileStreamSink, FileStreamSinkLog, SinkFileStatus}
import org.apache.spark.sql.tidemark.stream.SparkInternals
import org.apache.spark.util.HadoopFSUtils

/** Which files a source of files has read, by the names and the batches that marks have. Names are compared; no file is
  * opened, and nothing is written.
  */
private[tidemark] final class FilesRead(
    source: FileStreamSource,
    session: SparkSession,
    isDrained: () => Boolean) {
  import FilesRead._

  private val base = SparkInternals.basePath(source)
  private val sinkFolder = new Path(base, FileStreamSink.metadataDir)
  private lazy val fs = base.getFileSystem(session.sessionState.newHadoopConf())
  // It creates its folder, so it must only be made if the folder exists.
  private lazy val sinkLog = new FileStreamSinkLog(FileStreamSinkLog.VERSION, session, sinkFolder.toString)

  // All batches of the sink up to this one have been read.
  private var lastRead = -1L

  // Names that marks wait for, for reports: the newest ones.
  @volatile private var unread = Map.empty[String, Unread]

  val position: Position =
    new Position(base, looksRead, hasReadSinkBatch, isDrained, name => unread.get(name).map(_.why))

  private def looksRead(name: String): Boolean = {
    val why = whyUnread(name)
    why match {
      case None => if (unread.contains(name)) unread -= name
      case Some(found) => unread = (if (unread.size < MostUnread) unread else Map.empty[String, Unread]) +
          (name -> found)
    }
    why.isEmpty
  }

  /** `None` if a file has been read, or will not be because it is too old. A missing file has not: the name may be
    * wrong, and then nothing says which rows are meant.
    * @param name relative to the path that the source reads
    */
  private def whyUnread(name: String): Option[Unread] = {
    val uri = base.toUri
    def path(authority: String) = new Path(uri.getScheme, authority, s"${uri.getPath}/$name")
    // A listing of local files has paths that begin with `file:///`, which Spark takes for others than `file:/`.
    def paths = Seq(path(uri.getAuthority)) ++ Option.when(uri.getAuthority == null)(path(""))
    val parts = name.split('/')
    // A file that the source knows is never new. Of any other, its age decides whether the source still reads it.
    if (parts.contains("..")) Some(new Unread("which is outside the path that is read"))
    else if (paths.exists(!isNew(_, Long.MaxValue))) None
    else
      try {
        val status = fs.getFileStatus(paths.head)
        if (paths.exists(!isNew(_, status.getModificationTime))) None
        else if (status.isDirectory) Some(new Unread("which is a folder"))
        else if (parts.exists(HadoopFSUtils.shouldFilterOutPathName(_)))
          Some(new Unread("whose name the source passes over"))
        else Some(new Unread(""))
      } catch { case _: FileNotFoundException => Some(new Unread(above(name).getOrElse("which does not exist"))) }
  }

  /** Where a file is that the query cannot find: it may read a folder of what the names are relative to. */
  private def above(name: String): Option[String] =
    Iterator.iterate(base.getParent)(_.getParent).take(FoldersAbove).takeWhile(_ != null)
      .find(folder => Try(fs.exists(new Path(folder, name))).getOrElse(false))
      .map(folder => s"which is in $folder, while the query reads $base")

  private def isNew(file: Path, modifiedMillis: Long): Boolean =
    source.seenFiles.isNewFile(SparkPath.fromPath(file), modifiedMillis)

  /** Whether all files have been read that a file sink has written up to one of its batches. */
  private def hasReadSinkBatch(batch: Long): Boolean = {
    if (lastRead < batch && fs.exists(sinkFolder)) readOn(batch)
    lastRead >= batch
  }

  private def readOn(batch: Long): Unit = {
    // The sink deletes the files of old batches. The next file that it has kept lists what they listed.
    val there = fs.listStatus(sinkFolder).toSeq.flatMap(_.getPath.getName.stripSuffix(".compact").toLongOption).sorted
    val next = there.iterator.filter(_ > lastRead)
    while (lastRead < batch && next.hasNext) {
      val entry = next.next()
      if (sinkLog.get(entry).exists(_.forall(isRead))) lastRead = entry else return
    }
  }

  private def isRead(file: SinkFileStatus): Boolean = {
    val path = SparkPath.fromUrlString(file.path)
    file.action != FileStreamSinkLog.ADD_ACTION || !source.seenFiles.isNewFile(path, Long.MaxValue) ||
    !source.seenFiles.isNewFile(path, file.modificationTime)
  }
}

private[tidemark] object FilesRead {

  /** A name that a mark waits for. Only a report asks what may be wrong with it, for which some folders are looked at.
    * @param found empty if nothing is wrong
    */
  private final class Unread(found: => String) {
    lazy val why: String = found
  }

  private val MostUnread = 1000

  // Partitions of a table by year, month, day and hour.
  private val FoldersAbove = 4

  /** @param base the path that the source reads */
  final class Position(
      val base: Path,
      hasRead: String => Boolean,
      hasReadSinkBatch: Long => Boolean,
      drained: () => Boolean,
      unread: String => Option[String])
      extends SourcePosition.Files(hasRead, hasReadSinkBatch) {

    override def isDrained: Boolean = drained()

    override def isKnownUnread(name: String): Boolean = unread(name).nonEmpty

    override def whyUnread(name: String): Option[String] = unread(name).filter(_.nonEmpty)

    /** What two copies of the source have both read. */
    def and(other: Position): Position = new Position(
      base,
      name => hasRead(name) && other.hasReadFile(name),
      batch => hasReadSinkBatch(batch) && other.hasReadBatch(batch),
      () => isDrained && other.isDrained,
      name => unread(name).orElse(other.unreadBecause(name)))

    private def unreadBecause(name: String): Option[String] = unread(name)

    private def hasReadFile(name: String): Boolean = hasRead(name)
    private def hasReadBatch(batch: Long): Boolean = hasReadSinkBatch(batch)
  }
}
