package org.apache.spark.sql.tidemark.exec.calls

import java.io.File
import java.nio.file.{FileAlreadyExistsException, Files}
import java.util.concurrent.{ConcurrentHashMap, ScheduledExecutorService, TimeUnit}

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.spark.{SparkEnv, TaskContext}
import org.apache.spark.internal.Logging
import org.apache.spark.util.ThreadUtils

/** Tells a worker of Python that its task was killed, as when a query is stopped.
  *
  * Spark waits for such a worker until it kills the process, a few seconds later. Until then the worker may cancel its calls
  * and close its client, if it knows. It looks for an empty file in Spark's local folder, which is named after the attempt.
  * `hangup.py` has the other side.
  */
private[tidemark] object KilledTasks extends Logging {
  private val LookMillis = 100L
  private val tasks = ConcurrentHashMap.newKeySet[TaskContext]()

  private lazy val looking: ScheduledExecutorService = {
    val executor = ThreadUtils.newDaemonSingleThreadScheduledExecutor("tidemark-killed-tasks")
    val look: Runnable = () => tasks.asScala.filter(_.isInterrupted()).foreach(tell)
    val _ = executor.scheduleWithFixedDelay(look, LookMillis, LookMillis, TimeUnit.MILLISECONDS)
    executor
  }

  /** Looks after this task until it has completed. */
  def watch(task: TaskContext): Unit = {
    val _ = looking
    val _ = tasks.add(task)
    val _ = task.addTaskCompletionListener[Unit] { ended =>
      val _ = tasks.remove(ended)
      val _ = mark(ended).delete()
    }
  }

  private def tell(task: TaskContext): Unit =
    try {
      val _ = tasks.remove(task)
      val _ = Files.createFile(mark(task).toPath)
    } catch {
      case _: FileAlreadyExistsException =>
      case NonFatal(e) => logWarning("A worker of Python could not be told that its task was killed", e)
    }

  private def mark(task: TaskContext): File =
    new File(SparkEnv.get.blockManager.diskBlockManager.localDirs.head, s"tidemark-killed-${task.taskAttemptId()}")
}
