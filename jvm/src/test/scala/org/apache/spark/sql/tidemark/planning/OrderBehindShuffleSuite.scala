package org.apache.spark.sql.tidemark.planning

import java.io.File
import java.nio.file.Files
import java.sql.Timestamp

import scala.collection.mutable

import io.tidemark.OrderOptions
import io.tidemark.functions.inOrder

import org.apache.spark.sql.{DataFrame, Dataset, Row}
import org.apache.spark.sql.execution.streaming.runtime.{MemoryStream, StreamingQueryWrapper}
import org.apache.spark.sql.functions._
import org.apache.spark.sql.streaming.{GroupState, GroupStateTimeout, OutputMode}
import org.apache.spark.sql.tidemark.support.WatermarkTest

/** Operators behind a shuffle get an order also if nothing but the order needs its columns, and nothing is said of it at the
  * end of a plan.
  */
class OrderBehindShuffleSuite extends WatermarkTest {
  import testImplicits._

  private final class Feed {
    val stream = MemoryStream[(String, String, Int, Timestamp, String)]
    val rows: DataFrame = stream.toDF().toDF("k", "d", "n", "t", "x").withWatermark("t", "10 seconds")
    // The later a row comes, the earlier its time.
    for (n <- 0 until 8; k <- "abcdefgh") {
      val at = Timestamp.valueOf(s"2024-03-01 10:00:${50 - n}")
      stream.addData((k.toString, s"d$n", n, at, s"$k$n"))
    }
    stream.addData(("z", "d", 9, Timestamp.valueOf("2024-03-01 12:00:00"), "last"))
  }

  private val ordered = OrderOptions(by = Seq($"d"), thenBy = Seq($"n"))

  /** The rows of a query in the order in which they come, and each executed plan. */
  private def run(query: DataFrame)(look: Dataset[Row] => Unit = _ => ()): Seq[Row] = {
    val rows = mutable.Buffer.empty[Row]
    val keep = (batch: Dataset[Row], _: Long) => {
      look(batch)
      rows ++= batch.collect()
      ()
    }
    val running = query.writeStream.foreachBatch(keep).start()
    try {
      running.processAllAvailable()
      val plan = running.asInstanceOf[StreamingQueryWrapper].streamingQuery.lastExecution.executedPlan
      assert(plan.outputOrdering.isEmpty)
    } finally running.stop()
    rows.toSeq
  }

  private val earliest = "abcdefgh".map(k => s"${k}7").sorted

  for {
    (name, query) <- Seq[(String, DataFrame => DataFrame)](
      "a deduplication" -> (_.dropDuplicates("k").select("x")),
      "a deduplication within the watermark" -> (_.dropDuplicatesWithinWatermark("k").select("x")),
      "a deduplication of rows that are filtered and computed" ->
        (_.where($"n" >= 0).withColumn("y", upper($"x")).dropDuplicates("k").select(lower($"y"))),
      "a deduplication of rows without the time" -> (_.select("k", "x").dropDuplicates("k").select("x")),
      "a deduplication of exploded rows" ->
        (_.select($"k", explode(array($"x")).as("x")).dropDuplicates("k").select("x")))
  } test(s"$name keeps the first row by time, though only the order needs the time") {
    val rows = run(query(inOrder(new Feed().rows, "t", ordered)))()
    assert(rows.map(_.getString(0)).filter(_ != "last").sorted === earliest)
  }

  test("a limit passes the first rows by time, though only the order needs the time") {
    val rows = run(inOrder(new Feed().rows, "t", ordered).limit(8).select("x"))()
    assert(rows.map(_.getString(0)).sorted === earliest)
  }

  test("a function with state reads each group by time, though it does not get the time") {
    val names = inOrder(new Feed().rows, "t", ordered).select("k", "x").as[(String, String)]
    val seen = names.groupByKey(_._1).flatMapGroupsWithState[String, String](
      OutputMode.Append,
      GroupStateTimeout.NoTimeout) { (key: String, rows: Iterator[(String, String)], state: GroupState[String]) =>
      val all = state.getOption.getOrElse("") + rows.map(_._2.drop(1)).mkString
      state.update(all)
      Iterator(s"$key$all")
    }
    val rows = run(seen.toDF())()
    assert(rows.map(_.getString(0)).filterNot(_.startsWith("z")).sorted === "abcdefgh".map(k => s"${k}76543210"))
  }

  for ((name, query) <- Seq[(String, DataFrame => DataFrame)](
      "in order" -> (inOrder(_, "t", OrderOptions(by = Seq($"k"), thenBy = Seq($"n")))),
      "in order without waiting" -> (inOrder(_, "t", OrderOptions(by = Seq($"k"), waits = false))),
      "in order and computed" ->
        (inOrder(_, "t", OrderOptions(by = Seq(upper($"k")), thenBy = Seq(-$"n"))).select("x")),
      "deduplicated in order" -> (inOrder(_, "t", ordered).dropDuplicates("k", "n"))))
    test(s"a batch of foreachBatch can be cached: rows $name") {
      withTempDir { folder =>
        val lines = for (n <- 0 until 8; k <- "abcdefgh")
          yield s"""{"k":"$k","d":"d$n","n":$n,"t":"2024-03-01T10:00:${50 - n}Z","x":"$k$n"}"""
        val last = """{"k":"z","d":"d","n":9,"t":"2024-03-01T12:00:00Z","x":"last"}"""
        Files.writeString(new File(folder, "1.json").toPath, (lines :+ last).mkString("\n"))
        val files = spark.readStream.schema("k STRING, d STRING, n INT, t TIMESTAMP, x STRING").json(folder.getPath)
        for (input <- Seq(new Feed().rows, files.withWatermark("t", "10 seconds"))) {
          var counts = Seq.empty[Long]
          val rows = run(query(input)) { batch =>
            batch.persist()
            val first = batch.columns.head
            counts :+= batch.count() + batch.sort(first).count() + batch.groupBy(first).count().count()
            batch.unpersist()
            ()
          }
          assert(rows.size >= 64 && counts.max > 128)
        }
      }
    }

  test("late rows that are passed on come in their batch, also those up to 1970 before there is a watermark") {
    val stream = MemoryStream[(String, Timestamp)]
    val times = Seq(new Timestamp(-5000L), new Timestamp(0L), new Timestamp(5000L))
    val rows = stream.toDF().toDF("k", "t").withWatermark("t", "10 seconds")
    testStream(inOrder(rows, "t", OrderOptions(by = Seq($"k"), dropsLate = false)))(
      AddData(stream, times.map("a" -> _): _*),
      ProcessAllAvailable(),
      CheckNewAnswer("a" -> times.head, "a" -> times(1)),
      AddData(stream, "a" -> new Timestamp(100000L)),
      ProcessAllAvailable(),
      CheckNewAnswer("a" -> times.last))
  }
}
