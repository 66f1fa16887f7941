package org.apache.spark.sql.tidemark.noted

import java.io.File
import java.nio.file.Files
import java.util.concurrent.CountDownLatch
import java.util.concurrent.atomic.AtomicInteger

import io.tidemark.core.noted.MarkId

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path, RawLocalFileSystem}
import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.SpanSugar._

import org.apache.spark.sql.tidemark.support.MarkLog

/** A mark log on a file system that does not answer. */
class HangingMarkLogSuite extends AnyFunSuite with Eventually {
  import HangingFileSystem._

  private val conf = new Configuration
  conf.set("fs.file.impl", classOf[HangingFileSystem].getName)
  conf.setBoolean("fs.file.impl.disable.cache", true)

  private def position(n: Long) = s"""{"number":$n}"""

  test("a batch goes on with the known marks while the log does not answer, and takes the others later") {
    val folder = Files.createTempDirectory("marks").toFile
    try {
      val marks = new MarkLog(new File(folder, "_tidemark"))
      val source = new MarkLogReader(new MarkFolder(new Path(marks.location), conf))
      val log = new BackgroundLog(marks.location, source, _ => true, waitMillis = 0)
      def known = log.latest.toSeq.flatMap(_.histories.values).map(_.marks.size).sum
      marks.note("eu", 1, position(1))
      log.read(Map.empty, nowMillis = 0)
      eventually(timeout(30.seconds))(assert(known === 1))
      assert(log.latestMillis === Some(0))

      val answer = hang()
      val calls = asked.get
      marks.note("eu", 2, position(2))
      // The second batch begins no reading beside the one that hangs.
      for (batch <- 1 to 3) {
        log.read(Map.empty, nowMillis = batch * 1000L)
        assert(log.awaited.exists(_.histories.values.map(_.marks.size).sum == 1))
        log.readAfterPause(Map.empty, nowMillis = batch * 1000L + 1000)
      }
      eventually(timeout(30.seconds))(assert(asked.get === calls + 1))
      // What is known is as old as before.
      assert(log.latestMillis === Some(0))
      answer.countDown()
      eventually(timeout(30.seconds))(assert(known === 2))
      assert(log.latestMillis === Some(1000))

      marks.note("eu", 3, position(3))
      log.read(Map.empty, nowMillis = 9000)
      eventually(timeout(30.seconds))(assert(known === 3))
    } finally {
      answers.countDown()
      org.apache.spark.util.Utils.deleteRecursively(folder)
    }
  }

  test("a log that is closed while it is read is closed once, behind the reading, and is not read again") {
    val source = new WaitingSource
    val opened = new AtomicInteger
    val log = new BackgroundLog("log", { opened.incrementAndGet(); source }, _ => true)
    log.read(Map.empty, nowMillis = 0)
    source.isReading.await()
    log.close()
    log.read(Map.empty, nowMillis = 5000)
    assert(source.closed === Nil)
    source.mayRead.countDown()
    eventually(timeout(30.seconds))(assert(source.closed === Seq(true)))
    log.read(Map.empty, nowMillis = 9000)
    assert(opened.get === 1)
  }
}

/** Counts how often a log is opened and closed, and reads nothing until it may. */
private final class WaitingSource extends MarkSource {
  val mayRead = new CountDownLatch(1)
  val isReading = new CountDownLatch(1)
  @volatile var closed = Seq.empty[Boolean]
  @volatile private var hasRead = false

  override def exists: Boolean = true

  override def read(passed: Map[String, MarkId], isWanted: String => Boolean): MarkLogContents = {
    isReading.countDown()
    mayRead.await()
    hasRead = true
    MarkLogContents(Map.empty, Map.empty)
  }

  override def close(): Unit = closed :+= hasRead
}

/** A local file system whose listings wait for a latch. */
class HangingFileSystem extends RawLocalFileSystem {
  override def listStatus(path: Path): Array[FileStatus] = {
    HangingFileSystem.asked.incrementAndGet()
    HangingFileSystem.answers.await()
    super.listStatus(path)
  }
}

object HangingFileSystem {
  val asked = new AtomicInteger
  @volatile var answers = new CountDownLatch(0)

  def hang(): CountDownLatch = {
    answers = new CountDownLatch(1)
    answers
  }
}
