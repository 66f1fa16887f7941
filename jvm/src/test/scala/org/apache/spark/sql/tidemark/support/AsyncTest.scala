package org.apache.spark.sql.tidemark.support

import java.util.concurrent.{CountDownLatch, CyclicBarrier, Executors, TimeUnit}
import java.util.concurrent.atomic.AtomicInteger

import scala.concurrent.{ExecutionContext, Future}

import org.apache.spark.sql.DataFrame

/** What the functions of the tests share: they run in this JVM, but are sent to the tasks. */
object AsyncCalls {
  implicit val threads: ExecutionContext =
    ExecutionContext.fromExecutor(Executors.newCachedThreadPool { task: Runnable =>
      val thread = new Thread(task)
      thread.setDaemon(true)
      thread
    })
  val count = new AtomicInteger
  val inFlight = new AtomicInteger
  val most = new AtomicInteger
  @volatile var barrier = new CyclicBarrier(1)
  @volatile var latch = new CountDownLatch(1)

  def reset(together: Int): Unit = {
    Seq(count, inFlight, most).foreach(_.set(0))
    barrier = new CyclicBarrier(together)
    latch = new CountDownLatch(1)
  }

  /** Some calls end immediately, and the others in another thread, in any order. */
  def later(result: Any): Future[Any] = if (result.hashCode % 2 == 0) Future.successful(result) else Future(result)

  /** A call that waits until the most calls allowed are in flight. */
  def together(n: Long): Future[Any] = Future {
    most.accumulateAndGet(inFlight.incrementAndGet(), (a, b) => math.max(a, b))
    barrier.await(60, TimeUnit.SECONDS)
    inFlight.decrementAndGet()
    n
  }
}

/** A test of calls for rows. */
trait AsyncTest extends OrderTest {
  import testImplicits._

  protected def numbers(rows: Int): DataFrame = spark.range(0, rows, 1, 1).toDF("n")
  protected val n = Seq($"n")
}
