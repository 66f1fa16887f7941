package org.apache.spark.sql.tidemark.noted

import java.util.concurrent.{SynchronousQueue, ThreadPoolExecutor, TimeUnit}

import org.apache.spark.util.UninterruptibleThread

/** Threads that read and write mark logs beside a query. */
private[tidemark] object MarkThreads {

  /** A thread for each task. A thread ends when it has had nothing to do for a minute. */
  def pool(name: String): ThreadPoolExecutor =
    new ThreadPoolExecutor(0, Int.MaxValue, 1, TimeUnit.MINUTES, new SynchronousQueue[Runnable], thread(_, name))

  /** The Kafka connector does not want its thread to be interrupted while it polls. */
  private def thread(task: Runnable, name: String): Thread = {
    val thread = new UninterruptibleThread(task, name)
    thread.setDaemon(true)
    thread
  }
}
