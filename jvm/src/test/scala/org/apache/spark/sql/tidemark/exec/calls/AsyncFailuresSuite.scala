package org.apache.spark.sql.tidemark.exec.calls

import java.util.concurrent.Executors

import scala.concurrent.{Future, Promise}
import scala.jdk.CollectionConverters._

import io.tidemark.AsyncOptions
import io.tidemark.functions.{callId, mapAsync, mapAsyncWith}

import org.apache.spark.SparkException
import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.execution.streaming.runtime.{MemoryStream, StreamExecution}
import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.support.{AsyncCalls, AsyncTest}
import org.apache.spark.sql.types._

/** The ids that calls have asked for. */
object SeenIds {
  private val all = java.util.concurrent.ConcurrentHashMap.newKeySet[String]()
  def add(id: String): Boolean = all.add(id)
  def clear(): Unit = all.clear()
}

/** As the error of a client whose answer is missing. */
final class NoTextException extends Exception {
  override def getMessage: String = throw new IllegalStateException("no answer")
}

/** A client that counts how often one is opened, closed, and called while it is closed. */
final class CountedClient extends AutoCloseable {
  AsyncCalls.count.incrementAndGet()
  AsyncCalls.inFlight.incrementAndGet()
  @volatile private var isClosed = false

  def next(n: Long): Future[Any] =
    if (isClosed) Future.failed(new IllegalStateException("it is closed")) else Future.successful(n + 1)

  override def close(): Unit = {
    isClosed = true
    AsyncCalls.inFlight.decrementAndGet()
  }
}

/** Calls that fail, never end or are made again, and clients that cannot be opened. */
class AsyncFailuresSuite extends AsyncTest {
  import testImplicits._

  test("a failed call is made again, and its last failure names the inputs") {
    AsyncCalls.reset(together = 1)
    def call(failures: Int, fails: Boolean = true) =
      mapAsync(
        numbers(3),
        "same",
        n,
        LongType,
        AsyncOptions(retries = 2, backoff = "1 millisecond", failsQuery = fails)) { row =>
        if (row.getLong(0) == 1 && AsyncCalls.count.incrementAndGet() <= failures)
          throw new IllegalStateException("down")
        else Future.successful(row.getLong(0))
      }.as[(Long, Option[Long])].collect().toSeq
    assert(call(failures = 2) === Seq((0, Some(0)), (1, Some(1)), (2, Some(2))))
    AsyncCalls.reset(together = 1)
    assertRefused(
      "ASYNC_CALL_FAILED",
      "column" -> "same",
      "inputs" -> "n=1",
      "attempts" -> "3",
      "error" -> "IllegalStateException: down")(call(failures = 3))
    AsyncCalls.reset(together = 1)
    assert(call(failures = 3, fails = false)(1) === ((1L, None)))
  }

  test("an error is named in short, also one whose text cannot be made, and one of a missing class") {
    for ((error, line) <- Seq[(() => Throwable, String)](
        (() => new NoTextException, "NoTextException: its text cannot be made (IllegalStateException)"),
        (() => new Exception("outer", new NoTextException), "Exception: outer"),
        (() => new NoClassDefFoundError("io/client/Client"), "NoClassDefFoundError: io/client/Client"),
        (() => new Exception("x" * 100000), "Exception: " + "x" * 998 + "..."))) {
      for (thrown <- Seq(true, false)) {
        val failing =
          mapAsync(numbers(1), "same", n, LongType)(_ => if (thrown) throw error() else Future.failed(error()))
        assertRefused("ASYNC_CALL_FAILED", "inputs" -> "n=0", "attempts" -> "1", "error" -> line)(failing.collect())
      }
      val unopened = mapAsyncWith[AnyRef](numbers(1), "same", n, LongType, () => throw new NoTextException)((_, _) =>
        Future.successful(1L))
      assertRefused("ASYNC_SERVICE_FAILED", "column" -> "same")(unopened.collect())
    }
  }

  test("each task opens a client at its first row and closes it, also when a call fails") {
    AsyncCalls.reset(together = 1)
    // Three partitions have rows, and one has none.
    val rows = spark.range(0, 30, 1, 3).toDF("n").union(numbers(0))
    val found = mapAsyncWith(rows, "next", n, LongType, () => new CountedClient)((client, row) =>
      client.next(row.getLong(0)))
    assert(found.as[(Long, Long)].collect().toSeq === (0L until 30L).map(n => (n, n + 1)))
    assert((AsyncCalls.count.get, AsyncCalls.inFlight.get) === ((3, 0)))
    val failing = mapAsyncWith(rows, "next", n, LongType, () => new CountedClient)((_, _) =>
      Future.failed(new IllegalStateException("down")))
    assertRefused("ASYNC_CALL_FAILED", "error" -> "IllegalStateException: down")(failing.collect())
    // The query fails with the first task that does. The others may be still running.
    eventually(timeout(streamingTimeout))(assert(AsyncCalls.inFlight.get === 0))
  }

  test("a client that cannot be opened or closed is not a failed call") {
    val options = AsyncOptions(retries = 5, failsQuery = false)
    def call(open: () => AutoCloseable): Unit = {
      val called = mapAsyncWith(numbers(3), "same", n, LongType, open, options) { (_, row) =>
        Future.successful(row.getLong(0))
      }
      val _ = called.collect()
    }
    assertRefused("ASYNC_SERVICE_FAILED", "column" -> "same", "error" -> "IllegalStateException: no address") {
      call(() => throw new IllegalStateException("no address"))
    }
    assertQueryRefused("ASYNC_SERVICE_FAILED", "column" -> "same", "error" -> "IllegalStateException: no answer") {
      call(() => () => throw new IllegalStateException("no answer"))
    }
  }

  test("a row is given up after its time-out, and its call keeps its slot until it has ended") {
    AsyncCalls.reset(together = 1)
    val options = AsyncOptions(concurrency = 2, timeout = "200 milliseconds", failsQuery = false)
    val found = mapAsync(numbers(9), "same", n, LongType, options) { row =>
      AsyncCalls.most.accumulateAndGet(AsyncCalls.inFlight.incrementAndGet(), (a, b) => math.max(a, b))
      if (row.getLong(0) == 0) Promise[Any]().future
      else {
        AsyncCalls.inFlight.decrementAndGet()
        Future.successful(row.getLong(0))
      }
    }
    assert(found.collect().toSeq === Row(0, null) +: (1 until 9).map(k => Row(k, k)))
    assert(AsyncCalls.most.get === 2)
  }

  test("when all slots are held by calls that never end, the query ends by name and has begun no other call") {
    for ((key, slots) <- Seq(None -> "all 2 slots", Some(lit(1)) -> "the slot of a key")) {
      AsyncCalls.reset(together = 1)
      val options = AsyncOptions(concurrency = 2, timeout = "50 milliseconds", failsQuery = false, key = key)
      val found = mapAsync(numbers(9).repartition(1), "same", n, LongType, options) { _ =>
        AsyncCalls.count.incrementAndGet()
        Promise[Any]().future
      }
      val refused = refusalOf(found.collect())
      assertRefusal(refused, "ASYNC_SLOTS_STUCK", "column" -> "same", "slots" -> slots, "seconds" -> "0.05")
      assert(refused.error.parameters("inputs").startsWith("n="))
      assert(AsyncCalls.count.get === key.fold(2)(_ => 1))
    }
  }

  test("a call has an id, the same in its retries, when its batch runs again, and in two actions of foreachBatch") {
    val stream = MemoryStream[Int]
    val called = mapAsync(stream.toDF(), "id", Seq($"value"), StringType, AsyncOptions(retries = 1, backoff = "none")) {
      _ =>
        val id = callId()
        if (SeenIds.add(id)) throw new IllegalStateException("down") else Future.successful(id)
    }
    withTempDir { checkpoint =>
      def ids(): Seq[Set[String]] = {
        SeenIds.clear()
        val found = new java.util.concurrent.ConcurrentLinkedQueue[Set[String]]
        val query = called.writeStream.option("checkpointLocation", checkpoint.toString)
          .foreachBatch { (batch: DataFrame, _: Long) =>
            found.add(batch.select("id").as[String].collect().toSet)
            // As on Spark Connect: a thread that knows nothing of the query.
            val other = Executors.newSingleThreadExecutor()
            try other.submit { () =>
                spark.sparkContext.setLocalProperty(StreamExecution.QUERY_ID_KEY, null)
                found.add(batch.select("id").as[String].collect().toSet)
              }.get()
            finally other.shutdown()
            ()
          }.start()
        try query.processAllAvailable()
        finally query.stop()
        found.asScala.toSeq
      }
      stream.addData(1, 1, 2)
      val first = ids()
      assert(first.map(_.size) === Seq(3, 3))
      assert(first.distinct.size === 1)
      // The batch is done, but the checkpoint says that it is not.
      assert(new java.io.File(checkpoint, "commits/0").delete())
      assert(ids() === first)
    }
    assertRefused("ASYNC_OUTSIDE_CALL")(callId())
  }

  test("a result of another type, and mistakes, are named") {
    assertRefused("ASYNC_RESULT_TYPE", "column" -> "same", "inputs" -> "n=0", "dataType" -> "BIGINT") {
      mapAsync(numbers(3), "same", n, LongType)(row => Future.successful(row.getLong(0).toString)).collect()
    }
    assertRefused("ASYNC_CALL_FAILED")(mapAsync(numbers(3), "same", n, LongType)(_ => null).collect())
    for {
      (column, inputs, options) <- Seq(
        ("same", Nil, AsyncOptions()),
        ("N", n, AsyncOptions()),
        ("same", n, AsyncOptions(concurrency = 0)),
        ("same", n, AsyncOptions(retries = -1)),
        ("same", n, AsyncOptions(timeout = "soon")))
    } assertRefused("INVALID_OPTION")(mapAsync(numbers(1), column, inputs, LongType, options)(_ => null))
    intercept[org.apache.spark.sql.AnalysisException](mapAsync(numbers(1), "same", Seq($"m"), LongType)(_ => null))
  }

  test("a killed task ends while its calls are in flight") {
    AsyncCalls.reset(together = 1)
    val stream = MemoryStream[Int](1)
    val called = mapAsync(stream.toDF().toDF("n"), "same", n, IntegerType, AsyncOptions(timeout = "none")) { _ =>
      AsyncCalls.count.incrementAndGet()
      Promise[Any]().future
    }
    val query = called.writeStream.format("noop").start()
    stream.addData(0 until 100)
    eventually(timeout(streamingTimeout))(assert(AsyncCalls.count.get === 64))
    query.stop()
    waitForTasksToFinish()
    assert(query.exception.forall(_.getCause.isInstanceOf[SparkException]))
    assert(!query.isActive)
  }
}
