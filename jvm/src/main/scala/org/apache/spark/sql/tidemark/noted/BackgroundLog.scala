package org.apache.spark.sql.tidemark.noted

import java.io.FileNotFoundException
import java.util.concurrent.{CompletableFuture, ExecutionException, TimeoutException, TimeUnit}

import io.tidemark.core.noted.MarkId

import org.apache.spark.internal.Logging

/** A mark log that is read on another thread, one reading at a time. All methods but `close` are called on one thread, that of
  * a query.
  *
  * @param open the log, which is used on the other thread only
  * @param isWanted whether the marks of a writer count
  * @param waitMillis how long a batch waits for the log at its end
  * @param label what messages begin with: who reads the log
  */
private[tidemark] final class BackgroundLog(
    location: String,
    open: => MarkSource,
    isWanted: String => Boolean,
    waitMillis: Long = BackgroundLog.WaitMillis,
    label: String = "Tidemark:")
    extends Logging {
  import BackgroundLog._

  @volatile private var opened = Option.empty[MarkSource]
  @volatile private var reading = Option.empty[CompletableFuture[Reading]]
  private var isClosed = false
  private var last = Option.empty[Reading]
  private var begunMillis = Long.MinValue / 2
  private var isFailing = false
  // Whether a batch has waited for the reading without a result.
  private var isOverdue = false
  @volatile private var isMissing = false

  /** Begins to read the log as it is now.
    * @param passed the last mark of each writer that has been passed; those before it are not needed
    * @param nowMillis the time by the query's clock
    */
  def read(passed: Map[String, MarkId], nowMillis: Long): Unit = {
    begunMillis = nowMillis
    // A file system that does not answer is not asked again.
    if (!isOverdue || reading.forall(_.isDone)) begin(passed, nowMillis)
  }

  private def begin(passed: Map[String, MarkId], nowMillis: Long): Unit = synchronized {
    isOverdue = false
    if (!isClosed)
      reading = Some(afterReading.thenApplyAsync((_: Unit) => Reading(nowMillis, readNow(passed)), threads))
  }

  /** Completes when the current reading has ended, failed or not. */
  private def afterReading: CompletableFuture[Unit] = reading match {
    case Some(now) => now.handle[Unit]((_, _) => ())
    case None => CompletableFuture.completedFuture(())
  }

  private def readNow(passed: Map[String, MarkId]): MarkLogContents = {
    val log = opened.getOrElse(open)
    opened = Some(log)
    if (!log.exists) {
      // A log whose marks were passed existed. That it is missing does not make it empty: a file system may be away.
      if (passed.nonEmpty) throw new FileNotFoundException(s"$location no longer exists")
      if (!isMissing)
        logWarning(s"$label There is no mark log in $location yet. The watermark waits for the first mark.")
      isMissing = true
    }
    log.read(passed, isWanted)
  }

  /** The same, unless the log is being read, or was a moment ago. */
  def readAfterPause(passed: Map[String, MarkId], nowMillis: Long): Unit =
    if (reading.isEmpty && nowMillis >= begunMillis + PauseMillis) read(passed, nowMillis)

  /** What the last reading has found that is complete; `None` if none is. */
  def latest: Option[MarkLogContents] = {
    if (reading.exists(_.isDone)) take()
    last.map(_.contents)
  }

  /** When the reading began that has found the latest contents (ms, by the query's clock). */
  def latestMillis: Option[Long] = last.map(_.begunMillis)

  /** The same as [[latest]] after waiting for the last reading. A reading that takes too long is waited for once, and its
    * result is taken when it ends.
    */
  def awaited: Option[MarkLogContents] = {
    if (reading.nonEmpty) take()
    last.map(_.contents)
  }

  /** A log that cannot be read holds the watermark: leaving out marks is never wrong. */
  private def take(): Unit = {
    try {
      last = Some(reading.get.get(if (isOverdue) 0L else waitMillis, TimeUnit.MILLISECONDS))
      ended()
      isFailing = false
    } catch {
      case _: TimeoutException =>
        warn(s"The mark log $location was not read within $waitMillis ms. The watermark waits for it.")
        isOverdue = true
      case e: ExecutionException =>
        ended()
        warn(s"The mark log $location could not be read. The watermark waits for it.", e.getCause)
    }
  }

  /** The log is not read again; from any thread. A reading that has not ended may still open the log, so it ends first. */
  def close(): Unit = synchronized {
    isClosed = true
    val _ = afterReading.thenRunAsync(() => opened.foreach(_.close()), threads)
  }

  private def ended(): Unit = {
    reading = None
    isOverdue = false
  }

  /** Once, until the log can be read again. */
  private def warn(message: String, cause: Throwable = null): Unit = {
    if (!isFailing) logWarning(s"$label $message", cause)
    isFailing = true
  }
}

private[tidemark] object BackgroundLog {

  /** A batch that has waited for so long continues with what is known of the log: leaving out marks is never wrong. */
  val WaitMillis = 30000L

  private val PauseMillis = 1000L

  /** @param begunMillis when it began, ms by the query's clock */
  private final case class Reading(begunMillis: Long, contents: MarkLogContents)

  // A thread for each log that is being read.
  private lazy val threads = MarkThreads.pool("tidemark-marks")
}
