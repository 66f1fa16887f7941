package org.apache.spark.sql.tidemark.support

import org.apache.hadoop.fs.{FSDataOutputStream, Path}
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.util.Progressable

/** A local file system in which a test has its hand in the creation of files. */
abstract class CreatingFileSystem extends UnforkedFileSystem {

  /** @param create creates the file */
  protected def creating(file: Path)(create: => FSDataOutputStream): FSDataOutputStream

  override def create(
      file: Path,
      permission: FsPermission,
      overwrite: Boolean,
      bufferSize: Int,
      replication: Short,
      blockSize: Long,
      progress: Progressable): FSDataOutputStream =
    creating(file)(super.create(file, permission, overwrite, bufferSize, replication, blockSize, progress))
}
