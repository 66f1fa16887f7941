package org.apache.spark.sql.tidemark.columns

import io.tidemark.functions.isLate

import org.apache.spark.SparkConf
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.support.{BatchRun, MarkedColumns, PythonMaps, RecordedRuns}

/** Event-time marks in a table, for example one that a stream wrote, have no effect beside a watermark of the query. */
class LeftoverMarksSuite extends RecordedRuns with MarkedColumns {
  import testImplicits._

  override protected def sparkConf: SparkConf =
    super.sparkConf.set("spark.sql.extensions", s"io.tidemark.TidemarkExtension,${classOf[PythonMaps].getName}")

  /** A static table. It has for each id a time in a column of this name, which has an event-time mark. */
  private def table(name: String): DataFrame = {
    val (_, of) = keyedRows("k", name)
    val mark = of.withWatermark(name, "0 seconds").schema(name).metadata
    Seq(1 -> at("9:00"), 2 -> at("10:20")).toDF("id", name).withMetadata(name, mark)
  }

  private val history = Seq("10:00", "10:30", "11:00", "10:10", "11:30")

  private def run(query: DataFrame => DataFrame): Seq[BatchRun] = {
    val (events, df) = keyedRows("k", "t")
    val looked = df.withWatermark("t", "0 seconds").join(table("at"), $"k" === $"id")
    val steps = history.zipWithIndex.map { case (time, step) =>
      () => { events.addData(1 + step % 2 -> at(time)); () }
    }
    record("append", query(looked), steps)
  }

  private val onTime = Seq("[10:00]", "[10:30]", "[11:00]", "[11:30]")
  private val clock = date_format($"t", "HH:mm")

  testMore("deduplication by two times decides which rows are late by the time that has a watermark") {
    for (keys <- Seq(Seq("at", "t"), Seq("t", "at")))
      assert(rows(run(_.dropDuplicates(keys).select(clock))) === onTime)
  }

  test("an aggregation by two times decides which rows are late by the time that has a watermark") {
    for (keys <- Seq(Seq($"at", $"t"), Seq($"t", $"at")))
      assert(rows(run(_.groupBy(keys: _*).count().select(clock))) === onTime)
  }

  test("a window on a time with a leftover mark does not decide which rows are late if another key has a watermark") {
    assert(rows(run(_.groupBy(window($"at", "10 minutes"), $"t").count().select(clock))) === onTime)
  }

  test("a time with a leftover mark advances with the stream if it is the only time, as in stock Spark") {
    def windows = run(_.select($"k", $"at").groupBy(window($"at", "10 minutes"), $"k").count().select($"k", $"count"))
    val ours = windows
    assert(ours.flatMap(_.rows).nonEmpty)
    assertSameBatches(ours, stock(windows))
  }

  testMore("a watermark on a column that a Python map has added to a marked schema matches stock Spark") {
    def once: Seq[BatchRun] = {
      val (events, df) = keyedRows("k", "at")
      val wider = marked(df, "at").withColumn("seen", $"at" + expr("INTERVAL 5 MINUTES"))
      val seen = PythonMaps.pandas(wider, wider.schema).withWatermark("seen", "10 minutes")
      val steps = (history ++ Seq("10:40", "11:30", "12:00", "11:00")).zipWithIndex.map { case (time, step) =>
        () => { events.addData(step % 2 -> at(time), step % 2 -> at(time)); () }
      }
      record("append", seen.dropDuplicates("k", "at", "seen"), steps)
    }
    val expected = stock(once)
    assert(expected.exists(_.rows.nonEmpty) && expected.flatMap(_.operators).exists(_.late > 0))
    assertSameBatches(once, expected)
  }

  test("is_late refuses a time with a leftover mark if the watermark is elsewhere in the query") {
    val (events, df) = keyedRows("k", "t")
    val (_, other) = keyedRows("k", "t")
    events.addData(1 -> at("10:00"))
    val late = marked(df, "t").select($"k", $"t", isLate($"t").as("late"))
    val united = late.union(other.withWatermark("t", "0 seconds").select($"k", $"t", lit(false)))
    val refused = refusalOf(record("append", united, Seq(() => ())))
    assertRefusal(refused, "NO_WATERMARK")
    assert(refused.error.parameters("expression").startsWith("is_late("))
  }

  test("is_late of a leftover mark is false in a query without a watermark, where no operator drops a row") {
    val (events, df) = keyedRows("k", "t")
    val read = marked(df, "t")
    val steps = Seq("11:00", "10:00").zipWithIndex.map { case (time, step) =>
      () => { events.addData(step -> at(time)); () }
    }
    assert(rows(record("append", read.select($"k", isLate($"t")), steps)) === Seq("[0,false]", "[1,false]"))
    val (others, other) = keyedRows("k", "t")
    val once = marked(other, "t").dropDuplicates("k", "t").select($"k")
    val more = Seq("11:00", "10:00").zipWithIndex.map { case (time, step) =>
      () => { others.addData(step -> at(time)); () }
    }
    assert(rows(record("append", once, more)) === Seq("[0]", "[1]"))
  }
}
