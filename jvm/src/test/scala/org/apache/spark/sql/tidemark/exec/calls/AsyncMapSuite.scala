package org.apache.spark.sql.tidemark.exec.calls

import java.util.concurrent.TimeUnit

import scala.concurrent.Future

import io.tidemark.{AsyncOptions, OrderOptions}
import io.tidemark.functions.{inOrder, mapAsync}

import org.apache.spark.sql.Row
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.support.{AsyncCalls, AsyncTest, SeenRows}
import org.apache.spark.sql.types._

/** Calls of many rows at one time: the same rows, columns and watermarks. */
class AsyncMapSuite extends AsyncTest {
  import AsyncCalls.threads
  import testImplicits._

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
    val calls = called
    assert(calls.union(calls).count() === 6)
    assert(calls.as("a").join(called.as("b"), $"a.same" === $"b.same").count() === 3)
  }
}
