package org.apache.spark.sql.tidemark.log

import java.util.concurrent.CountDownLatch

import io.tidemark.core.format.EntryCodec
import io.tidemark.core.support.ManySplits

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.scalatest.time.SpanSugar._

import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager.CancellableFSDataOutputStream
import org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.tidemark.support.WatermarkTest

/** Snapshots that are written beside the queries' own threads. */
class SnapshotWriterSuite extends WatermarkTest {

  test("no query waits for the snapshot of another query") {
    withTempDir { folder =>
      val conf = new Configuration
      conf.set(SQLConf.STREAMING_CHECKPOINT_FILE_MANAGER_CLASS.parent.key, classOf[HangingFiles].getName)
      val entry = EntryCodec.Written(new ManySplits(3).next(Seq(1, 2)), 0)
      def begun(query: String) = {
        val writer = new SnapshotWriter(new EntryFiles(new Path(folder.toURI.toString, query), conf))
        writer.begin(entry)
        writer
      }
      val (hanging, other) = (begun("hanging"), begun("other"))
      try eventually(timeout(20.seconds))(assert(other.done().nonEmpty))
      finally HangingFiles.goOn.countDown()
      eventually(timeout(20.seconds))(assert(hanging.done().nonEmpty))
    }
  }
}

/** As a file system that does not answer for one query. */
final class HangingFiles(path: Path, conf: Configuration) extends FileContextBasedCheckpointFileManager(path, conf) {
  override def createAtomic(file: Path, overwriteIfPossible: Boolean): CancellableFSDataOutputStream = {
    if (file.toString.contains("/hanging/")) HangingFiles.goOn.await()
    super.createAtomic(file, overwriteIfPossible)
  }
}

object HangingFiles {
  val goOn = new CountDownLatch(1)
}
