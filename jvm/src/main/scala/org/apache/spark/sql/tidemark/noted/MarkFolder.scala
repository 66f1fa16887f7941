package org.apache.spark.sql.tidemark.noted

import java.io.{FileNotFoundException, InputStream, IOException}
import java.util.Arrays

import scala.util.Using

import io.tidemark.core.noted.{Mark, MarkId}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}

/** The folder of a mark log, on any file system that Hadoop knows. Nothing is written or locked. */
private[tidemark] class MarkFolder(path: Path, conf: Configuration) {
  import MarkFolder._

  private lazy val files = path.getFileSystem(conf)

  /** The files of marks; none if there is no folder.
    * @throws java.io.IOException if it cannot be listed
    */
  def list(): Seq[File] = for { status <- listed(); name <- MarkFileName.parse(status.getPath.getName) } yield File(
    name,
    status.getLen,
    status.getModificationTime)

  /** The last mark of a writer that was purged, as its note says; `None` if there is no note. Of a note that cannot be used it
    * is the last mark that its life can have.
    * @throws java.io.IOException if the folder or a note cannot be read
    */
  def lastPurged(writer: String): Option[MarkId] = {
    val notes = listed().map(_.getPath.getName).flatMap(MarkFileName.parsePurged).filter(_.writer == writer)
    notes.map { note =>
      var last = Option.empty[MarkId]
      readLines(note)(_ => ())((bytes, from, until) => last = MarkText.lastPurged(bytes, from, until, writer))
      last.getOrElse(MarkId(note.epoch, Long.MaxValue))
    }.maxOption
  }

  private def listed(): Seq[FileStatus] = {
    val there =
      try files.listStatus(path).toSeq
      catch { case _: FileNotFoundException => Nil }
    if (there.exists(status => status.isFile && status.getPath == files.makeQualified(path)))
      throw new IOException(s"$path is a file")
    there.filter(_.isFile)
  }

  def exists: Boolean = files.exists(path)

  /** Reads the lines of a file: each gives a mark, or the reason why it has none that can be used. The other reasons than
    * those of [[MarkText.Unusable]] are [[MarkFolder.Torn]] and `long` (over 1 MB). A file that was removed has none.
    */
  def read(name: MarkFileName)(line: (Int, Either[String, Mark]) => Unit): Unit = {
    var number = 0
    val reader = new MarkText.Reader(name)
    def next(found: Either[String, Mark]): Unit = { number += 1; line(number, found) }
    readLines(name)(reason => next(Left(reason))) { (bytes, from, until) =>
      next(
        try Right(reader.mark(bytes, from, until))
        catch { case e: MarkText.Unusable => Left(e.reason) })
    }
  }

  private def readLines(name: MarkFileName)(unusable: String => Unit)(line: (Array[Byte], Int, Int) => Unit): Unit =
    try Using.resource(files.open(new Path(path, name.text)))(lines(_, unusable)(line))
    catch { case _: FileNotFoundException => () }
}

private[tidemark] object MarkFolder {

  final case class File(name: MarkFileName, bytes: Long, modifiedMillis: Long)

  /** Why the last line of a file cannot be used if it has no line feed. */
  val Torn = "torn"

  private val FirstBytes = 1 << 16

  /** Gives whole lines without their line feed, as places in a buffer. Never more than one line is in memory.
    * @param unusable called in place of `line` for a line that cannot be given, with the reason
    */
  private def lines(in: InputStream, unusable: String => Unit)(line: (Array[Byte], Int, Int) => Unit): Unit = {
    // It grows, because most files have only short lines.
    var buffer = new Array[Byte](FirstBytes)
    var filled = 0
    // The rest of a line that is too long is passed over.
    var isLong = false
    var read = in.read(buffer, 0, buffer.length)
    while (read >= 0) {
      val searched = filled
      filled += read
      var start = 0
      var at = searched
      while (at < filled) {
        if (buffer(at) == '\n') {
          if (isLong) unusable("long") else line(buffer, start, at)
          isLong = false
          start = at + 1
        }
        at += 1
      }
      System.arraycopy(buffer, start, buffer, 0, filled - start)
      filled -= start
      if (filled > MarkText.MostLineBytes) { isLong = true; filled = 0 }
      else if (filled == buffer.length) buffer = Arrays.copyOf(buffer, math.min(filled * 2, MarkText.MostLineBytes + 1))
      read = in.read(buffer, filled, buffer.length - filled)
    }
    if (isLong) unusable("long") else if (filled > 0) unusable(Torn)
  }
}
