package org.apache.spark.sql.tidemark

import io.tidemark.functions.isLate

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions._

/** Marks that a table brings along, as one that a stream has written: beside a watermark of the query they say nothing. */
class LeftoverMarksSuite extends RecordedRuns with MarkedColumns {
  import testImplicits._

  /** A table that is no stream: for each id a time, under this name, that bears a mark. */
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

  test("of two times among the keys of a deduplication the one with a watermark says what is late") {
    for (keys <- Seq(Seq("at", "t"), Seq("t", "at")))
      assert(rows(run(_.dropDuplicates(keys).select(clock))) === onTime)
  }

  test("of two times that are grouped by the one with a watermark says what is late") {
    for (keys <- Seq(Seq($"at", $"t"), Seq($"t", $"at")))
      assert(rows(run(_.groupBy(keys: _*).count().select(clock))) === onTime)
  }

  test("a window of a leftover time does not say what is late where a time with a watermark is grouped by") {
    assert(rows(run(_.groupBy(window($"at", "10 minutes"), $"t").count().select(clock))) === onTime)
  }

  test("a leftover time of a table, where no other time is left, is as far as the stream is: as in stock Spark") {
    def windows = run(_.select($"k", $"at").groupBy(window($"at", "10 minutes"), $"k").count().select($"k", $"count"))
    val ours = windows
    assert(ours.flatMap(_.rows).nonEmpty)
    assertSameBatches(ours, stock(windows))
  }

  private def refused(query: DataFrame): String = {
    val error = intercept[Exception](record("append", query, Seq(() => ())))
    causes(error).map(_.toString).mkString
  }

  test("is_late of a leftover time, with a watermark only elsewhere in the query, is refused by name") {
    val (events, df) = keyedRows("k", "t")
    val (_, other) = keyedRows("k", "t")
    events.addData(1 -> at("10:00"))
    val late = marked(df, "t").select($"k", $"t", isLate($"t").as("late"))
    val united = late.union(other.withWatermark("t", "0 seconds").select($"k", $"t", lit(false)))
    val text = refused(united)
    assert(text.contains("TIDEMARK.NO_WATERMARK") && text.contains("is_late("), text)
  }
}
