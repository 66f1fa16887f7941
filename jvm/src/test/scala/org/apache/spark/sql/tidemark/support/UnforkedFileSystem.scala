package org.apache.spark.sql.tidemark.support

import org.apache.hadoop.fs.{LocalFileSystem, Path, RawLocalFileSystem}
import org.apache.hadoop.fs.permission.FsPermission

/** The local file system, without permissions: without native code Hadoop starts a process for each file to set them. */
class UnforkedFileSystem
    extends LocalFileSystem(new RawLocalFileSystem {
      override def setPermission(path: Path, permission: FsPermission): Unit = ()
    })
