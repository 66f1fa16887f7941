package org.apache.spark.sql.tidemark

import java.io.File
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, StandardCopyOption}

import scala.collection.mutable

/** Writes marks into a log, each as a writer of its own life would. */
class MarkLog(val folder: File) {
  private val lines = mutable.Map.empty[(String, Long), Vector[String]]

  def location: String = folder.getPath

  /** @param fields of the mark's JSON after `v`, `w`, `e` and `n` */
  def add(writer: String, fields: String, epoch: Long = 1L): Unit = synchronized {
    val before = lines.getOrElse((writer, epoch), Vector.empty)
    val json = s"""{"v":1,"w":"$writer","e":$epoch,"n":${before.size},$fields}"""
    lines((writer, epoch)) = before :+ MarkLines.line(json)
    folder.mkdirs()
    val name = s"$writer.$epoch.${before.size % 2}.marks"
    val file = Files.write(folder.toPath.resolve(s".$name"), lines((writer, epoch)).mkString.getBytes(UTF_8))
    Files.move(file, folder.toPath.resolve(name), StandardCopyOption.ATOMIC_MOVE)
  }

  /** A noted time.
    * @param position as JSON; @param at when it was written, ms
    */
  def note(writer: String, timeMillis: Long, position: String, at: Long = 0L, epoch: Long = 1L): Unit =
    add(writer, s""""k":"note","t":$timeMillis,"at":$at,"p":$position""", epoch)

  def alive(writer: String, at: Long = 0L, epoch: Long = 1L): Unit = add(writer, s""""k":"alive","at":$at""", epoch)
}
