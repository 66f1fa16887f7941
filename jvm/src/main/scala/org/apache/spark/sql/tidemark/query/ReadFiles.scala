package org.apache.spark.sql.tidemark.query

import java.io.FileNotFoundException

import org.apache.hadoop.fs.Path

import org.apache.spark.paths.SparkPath
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.streaming.runtime.FileStreamSource
import org.apache.spark.sql.execution.streaming.sinks.{FileStreamSink, FileStreamSinkLog}

/** Which files a source of files has read, by the names and the batches that marks have. Names are compared, and no file is
  * opened.
  */
private[tidemark] final class ReadFiles(source: FileStreamSource, session: SparkSession) {
  private val base = SparkInternals.basePath(source)
  private lazy val fs = base.getFileSystem(session.sessionState.newHadoopConf())
  private lazy val sinkLog =
    new FileStreamSinkLog(FileStreamSinkLog.VERSION, session, new Path(base, FileStreamSink.metadataDir).toString)

  // All batches of the sink up to this one have been read.
  private var lastRead = -1L

  /** Whether a file has been read, or will not be because it is too old. A file that is not there has not: the name may be
    * wrong, and then nothing says which rows are meant.
    * @param name relative to the path that the source reads
    */
  def hasRead(name: String): Boolean = {
    val uri = base.toUri
    def path(authority: String) = new Path(uri.getScheme, authority, s"${uri.getPath}/$name")
    // A listing of local files has paths that begin with `file:///`, which Spark takes for others than `file:/`.
    def paths = Seq(path(uri.getAuthority)) ++ Option.when(uri.getAuthority == null)(path(""))
    !name.split('/').contains("..") && paths.exists(hasRead)
  }

  /** Whether all files have been read that a file sink has written up to one of its batches. */
  def hasReadSinkBatch(batch: Long): Boolean = {
    while (lastRead < batch && filesOf(lastRead + 1).exists(_.forall(hasRead))) lastRead += 1
    lastRead >= batch
  }

  /** The files of a batch; `None` while the sink has not written it. */
  private def filesOf(batch: Long): Option[Seq[Path]] = {
    val files = sinkLog.get(batch).map(_.toSeq).orElse {
      // The log of an old batch is part of a later one. That one may have more files, so the answer may come later.
      Option.when(sinkLog.getLatestBatchId().exists(_ > batch))(sinkLog.allFiles().toSeq)
    }
    files.map(_.filter(_.action == FileStreamSinkLog.ADD_ACTION).map(file => SparkPath.fromUrlString(file.path).toPath))
  }

  private def hasRead(file: Path): Boolean = {
    val path = SparkPath.fromPath(file)
    def isNew(modified: Long) = source.seenFiles.isNewFile(path, modified)
    // A file that the source knows is never new. Of any other, its age decides whether the source still reads it.
    !isNew(Long.MaxValue) ||
    (try !isNew(fs.getFileStatus(file).getModificationTime)
    catch { case _: FileNotFoundException => false })
  }
}
