package org.apache.spark.sql.tidemark.exec.calls

import java.util.concurrent.{CountDownLatch, CyclicBarrier, Executors, TimeUnit}
import java.util.concurrent.atomic.AtomicInteger

import scala.concurrent.{ExecutionContext, Future, Promise}
import scala.jdk.CollectionConverters._

import io.tidemark.{AsyncOptions, OrderOptions}
import io.tidemark.functions.{callId, inOrder, mapAsync, mapAsyncWith}

import com.fasterxml.jackson.databind.ObjectMapper

import org.apache.spark.SparkException
import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.execution.streaming.runtime.{MemoryStream, StreamExecution}
import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.support.{OrderTest, SeenRows}
import org.apache.spark.sql.types._

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

/** Calls of many rows at one time: the same rows, columns and watermarks. */
class AsyncMapSuite extends OrderTest {
  import AsyncCalls.threads
  import testImplicits._

  private def numbers(rows: Int): DataFrame = spark.range(0, rows, 1, 1).toDF("n")
  private val n = Seq($"n")

  test("windows and watermarks behind it are as without it") {
    def history(called: Boolean) = {
      val stream = MemoryStream[(Int, java.sql.Timestamp)](2)
      val df = stream.toDF().toDF("id", "t").withWatermark("t", "10 minutes")
      val rows =
        if (!called) df
        else mapAsync(df, "square", Seq($"id"), IntegerType)(row => Future(row.getInt(0) * row.getInt(0)))
          .where("square = id * id")
      testStream(rows.groupBy(window($"t", "10 minutes")).count().select($"window.start", $"count"))(
        AddData(stream, 1 -> at("10:00"), 2 -> at("10:05")),
        ProcessAllAvailable(),
        CheckNewAnswer(),
        AddData(stream, 3 -> at("10:21"), 4 -> at("09:00")),
        ProcessAllAvailable(),
        CheckNewAnswer((at("10:00"), 2L)),
        StopStream,
        StartStream(),
        AddData(stream, 5 -> at("10:01"), 5 -> at("11:00")),
        ProcessAllAvailable(),
        CheckNewAnswer((at("10:20"), 1L)))
    }
    history(called = false)
    history(called = true)
  }

  for (ordered <- Seq(true, false))
    test(s"every row has its own result${if (ordered) ", in the order of the rows" else ""}") {
      val found = mapAsync(numbers(2000), "next", n, LongType, AsyncOptions(ordered = ordered)) { row =>
        Future(row.getLong(0) + 1)
      }.as[(Long, Long)].collect().toSeq
      val expected = (0L until 2000L).map(n => (n, n + 1))
      assert((if (ordered) found else found.sorted) === expected)
    }

  test("the most calls allowed are in flight, and no more") {
    AsyncCalls.reset(together = 8)
    val found = mapAsync(numbers(64), "same", n, LongType, AsyncOptions(concurrency = 8))(row =>
      AsyncCalls.together(row.getLong(0)))
    assert(found.count() === 64)
    assert(AsyncCalls.most.get === 8)
  }

  test("unordered, rows behind a slow call are emitted before it") {
    AsyncCalls.reset(together = 1)
    val found = mapAsync(numbers(3), "same", n, LongType, AsyncOptions(ordered = false)) { row =>
      Future {
        if (row.getLong(0) == 0) AsyncCalls.latch.await(60, TimeUnit.SECONDS)
        row.getLong(0)
      }
    }
    // The last row that a task sees lets the first one go.
    val seen = found.as[(Long, Long)].mapPartitions { rows =>
      rows.map { row =>
        if (AsyncCalls.count.incrementAndGet() == 2) AsyncCalls.latch.countDown()
        row._1
      }
    }.collect()
    assert(seen.last === 0)
  }

  test("structs, arrays and nulls are taken and returned") {
    val type_ = new StructType().add("name", StringType).add("tiers", ArrayType(IntegerType))
    val rows = Seq((Some(1), Seq(1, 2)), (None, Nil)).toDF("id", "list")
    val found = mapAsync(rows, "user", Seq($"id", struct($"list")), type_) { row =>
      Future(if (row.isNullAt(0)) null else Row(s"u${row.getAs[Int]("id")}", row.getStruct(1).getSeq[Int](0)))
    }
    checkAnswer(found.select("user.name", "user.tiers"), Seq(Row("u1", Seq(1, 2)), Row(null, null)))
  }

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

  test("a client that cannot be opened or closed is no failed call") {
    val options = AsyncOptions(retries = 5, failsQuery = false)
    for ((open, error) <- Seq[(() => AutoCloseable, String)](
        (() => throw new IllegalStateException("no address"), "IllegalStateException: no address"),
        (() => () => throw new IllegalStateException("no answer"), "IllegalStateException: no answer")))
      assertRefused("ASYNC_SERVICE_FAILED", "column" -> "same", "error" -> error) {
        mapAsyncWith(numbers(3), "same", n, LongType, open, options)((_, row) =>
          Future.successful(row.getLong(0))).collect()
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

  test("the report has the calls of the last batch that had any, and those of the run") {
    val stream = MemoryStream[(Int, java.sql.Timestamp)](1)
    val df = stream.toDF().toDF("n", "t").withWatermark("t", "0 seconds")
    val called = mapAsync(df, "same", n, IntegerType)(row => Future.successful(row.getInt(0)))
    val query = called.groupBy(window($"t", "1 hour"), $"same").count().writeStream.format("noop").start()
    try {
      for (batch <- Seq(Seq(1, 2, 3), Seq(4))) {
        stream.addData(batch.map(_ -> at("10:00")))
        query.processAllAvailable()
      }
      stream.addData(5 -> at("12:00"))
      query.processAllAvailable()
      val json = spark.sql(s"SELECT tidemark_report('${query.id}')").head().getString(0)
      val calls = new ObjectMapper().readTree(json).get("calls")
      assert(calls.size === 1)
      assert(calls.get(0).get("column").asText === "same")
      assert(calls.get(0).get("last").get("calls").asLong === 1)
      assert(calls.get(0).get("all").get("calls").asLong === 5)
      assert(calls.get(0).get("all").get("slowest").asText.startsWith("n="))
    } finally query.stop()
  }

  test("rows whose inputs are all null have a null without a call, if that is asked for") {
    AsyncCalls.reset(together = 1)
    val rows = Seq((Some(1), Some(2)), (None, Some(3)), (None, None), (Some(4), None)).toDF("a", "b")
    for ((skips, calls) <- Seq(false -> 4, true -> 3)) {
      AsyncCalls.reset(together = 1)
      val found = mapAsync(rows, "called", Seq($"a", $"b"), StringType, AsyncOptions(skipsNulls = skips)) { row =>
        AsyncCalls.count.incrementAndGet()
        Future.successful(row.toString)
      }.select("called").as[Option[String]].collect().toSeq
      assert(AsyncCalls.count.get === calls)
      assert(found === Seq(Some("[1,2]"), Some("[null,3]"), Option.unless(skips)("[null,null]"), Some("[4,null]")))
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

  test("the progress of a batch says what its calls were, and names the slowest") {
    AsyncCalls.reset(together = 1)
    val options = AsyncOptions(
      concurrency = 4,
      retries = 1,
      backoff = "none",
      timeout = "300 milliseconds",
      failsQuery = false)
    def called(df: DataFrame) = mapAsync(df, "same", Seq($"value"), IntegerType, options) { row =>
      row.getInt(0) match {
        case 1 => Future.failed(new IllegalStateException("down"))
        case 2 if AsyncCalls.count.incrementAndGet() == 1 => Promise[Any]().future
        case n => Future.successful(n)
      }
    }
    val stream = MemoryStream[Int](1)
    val query = called(stream.toDF()).writeStream.format("noop").start()
    try {
      stream.addData(0 until 10)
      query.processAllAvailable()
      val said = query.lastProgress.observedMetrics.get("tidemark_calls_same")
      val counts = Seq("calls", "retries", "failed", "timed_out", "defaulted").map(said.getAs[Long](_))
      assert(counts === Seq(12, 2, 2, 1, 1))
      assert(said.getAs[Int]("most_in_flight") <= 4)
      assert(said.getAs[Double]("slowest_ms") >= 300)
      assert(said.getAs[Double]("p50_ms") <= said.getAs[Double]("p99_ms"))
      assert(said.getAs[String]("slowest") === "value=2")
      stream.addData(11)
      query.processAllAvailable()
      assert(query.lastProgress.observedMetrics.get("tidemark_calls_same").getAs[Long]("calls") === 1)
    } finally query.stop()
  }

  test("calls of a key follow event time above inOrder") {
    val stream = MemoryStream[(Int, java.sql.Timestamp)](2)
    val df = stream.toDF().toDF("id", "t").withWatermark("t", "0 seconds")
    val ordered = inOrder(df, "t", OrderOptions(by = Seq($"id")))
    val called = mapAsync(ordered, "m", Seq($"id", $"t"), IntegerType, AsyncOptions(key = Some($"id"))) { row =>
      Future {
        SeenRows.add(row.getInt(0) -> row.getTimestamp(1))
        0
      }
    }
    SeenRows.clear()
    val minutes = (0 until 30).map(k => (k * 7) % 30)
    testStream(called.select("m"))(
      AddData(stream, minutes.zipWithIndex.map { case (m, k) => (k % 3) -> at(f"10:$m%02d") }: _*),
      AddData(stream, 9 -> at("11:00")),
      ProcessAllAvailable())
    assert(SeenRows.all.count(_._1 < 3) === 30)
    assert(SeenRows.byId.values.forall(isSorted))
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

  test("the name of the new column is compared as the session compares names") {
    def called(column: String) =
      mapAsync(numbers(1), column, n, LongType)(row => Future.successful(row.getLong(0) + 1))
    for (sensitive <- Seq("true", "TRUE", " true ")) withSQLConf("spark.sql.caseSensitive" -> sensitive) {
      assert(called("N").collect().toSeq === Seq(Row(0L, 1L)))
      assertRefused("INVALID_OPTION", "value" -> "n")(called("n"))
    }
    withSQLConf("spark.sql.caseSensitive" -> "FALSE") {
      assertRefused("INVALID_OPTION", "value" -> "N")(called("N"))
    }
  }

  test("unused columns are pruned below it, and a filter on the result stays above") {
    AsyncCalls.reset(together = 1)
    val called = mapAsync(numbers(10).withColumn("more", lit(1)), "same", n, LongType) { row =>
      AsyncCalls.count.incrementAndGet()
      Future.successful(row.getLong(0))
    }
    assert(called.where("same > 5 AND same < 8").select("same").as[Long].collect().toSeq === Seq(6, 7))
    assert(AsyncCalls.count.get === 10)
  }

  test("the calls of a column that is not read are made") {
    AsyncCalls.reset(together = 1)
    val called = mapAsync(numbers(10), "same", n, LongType)(row => {
      AsyncCalls.count.incrementAndGet()
      Future.successful(row.getLong(0))
    })
    assert(called.drop("same").collect().length === 10)
    assert(AsyncCalls.count.get === 10)
  }

  test("a union of it with itself, and a join, have the right columns") {
    def called = mapAsync(numbers(3), "same", n, LongType)(row => Future.successful(row.getLong(0)))
    val one = called
    assert(one.union(one).count() === 6)
    assert(one.as("a").join(called.as("b"), $"a.same" === $"b.same").count() === 3)
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
