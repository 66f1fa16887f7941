package org.apache.spark.sql.tidemark.support

import java.io.File
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, StandardCopyOption}

import scala.collection.mutable

/** Writes marks into a log, each as a writer of its own life would.
  *
  * The clock of the file system is that of the writers, which is a manual one.
  */
class MarkLog(val folder: File) {

  /** How far the file system's clock is ahead of the writers'. */
  var aheadMillis = 0L

  private val At = """"at":(\d+)""".r
  private val lines = mutable.Map.empty[(String, Long), Vector[String]]

  def location: String = folder.getPath

  /** @param fields of the mark's JSON after `v`, `w`, `e` and `n` */
  def add(writer: String, fields: String, epoch: Long = 1L): Unit = synchronized {
    val before = lines.getOrElse((writer, epoch), Vector.empty)
    val json = s"""{"v":1,"w":"$writer","e":$epoch,"n":${before.size},$fields}"""
    lines((writer, epoch)) = before :+ MarkLines.line(json)
    write(writer, epoch, file = before.size % 2, lines((writer, epoch)))
  }

  /** Leaves the last marks of a writer, as if those before had been sealed and purged. */
  def purge(writer: String, left: Int, epoch: Long = 1L): Unit = synchronized {
    for (file <- 0 to 1) write(writer, epoch, file, lines((writer, epoch)).takeRight(left))
  }

  private def write(writer: String, epoch: Long, file: Int, lines: Seq[String]): Unit = {
    folder.mkdirs()
    val name = s"$writer.$epoch.$file.marks"
    val written = Files.write(folder.toPath.resolve(s".$name"), lines.mkString.getBytes(UTF_8))
    for (at <- At.findFirstMatchIn(lines.last)) written.toFile.setLastModified(at.group(1).toLong + aheadMillis)
    Files.move(written, folder.toPath.resolve(name), StandardCopyOption.ATOMIC_MOVE)
    ()
  }

  /** A noted time.
    * @param position as JSON; @param at when it was written, ms
    */
  def note(writer: String, timeMillis: Long, position: String, at: Long = 0L, epoch: Long = 1L): Unit =
    add(writer, s""""k":"note","t":$timeMillis,"at":$at,"p":$position""", epoch)

  def alive(writer: String, at: Long = 0L, epoch: Long = 1L): Unit = add(writer, s""""k":"alive","at":$at""", epoch)
}
