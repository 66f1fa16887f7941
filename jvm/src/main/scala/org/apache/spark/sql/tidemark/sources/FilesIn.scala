package org.apache.spark.sql.tidemark.sources

import java.io.{FileNotFoundException, IOException}

import io.tidemark.core.noted.Position

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import org.apache.spark.util.HadoopFSUtils

/** The files in a folder and below it, but not those that Spark's sources pass over because of their names. */
private[tidemark] final class FilesIn(folder: Path, conf: Configuration) {
  private lazy val files = folder.getFileSystem(conf)

  /** Whether the folder is known to be none. */
  def isFile: Boolean =
    try files.getFileStatus(folder).isFile
    catch { case _: IOException => false }

  /** @throws java.io.IOException if the folder does not exist, or cannot be listed */
  def all: Position.Files = {
    val found = Set.newBuilder[String]
    def list(in: Path, prefix: String): Unit = files.listStatus(in).foreach { file =>
      val name = file.getPath.getName
      if (!HadoopFSUtils.shouldFilterOutPathName(name)) {
        if (file.isFile) found += prefix + name
        else
          try list(file.getPath, s"$prefix$name/")
          // The folder was removed meanwhile, unless the whole file system is away.
          catch { case e: FileNotFoundException => if (!files.exists(folder)) throw e }
      }
    }
    list(folder, "")
    Position.Files(found.result())
  }
}
