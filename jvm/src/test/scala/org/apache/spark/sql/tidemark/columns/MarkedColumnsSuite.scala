package org.apache.spark.sql.tidemark.columns

import java.sql.Timestamp

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.tidemark.support.{BatchRun, MarkedColumns, RecordedRuns}

/** Columns that bear Spark's event-time mark, however it came there: what stock Spark takes for event time is event time. */
class MarkedColumnsSuite extends RecordedRuns with MarkedColumns {
  import testImplicits._

  private type Carrier = DataFrame => DataFrame

  private val carriers: Seq[(String, Carrier)] = Seq(
    "mapped rows" -> mapped,
    "exploded structs" -> { df =>
      val (id, time) = (df.columns.head, df.columns.last)
      df.selectExpr(s"explode(transform(array(1), i -> struct($time, $id, i))) AS e").select(s"e.$id", s"e.$time")
    },
    "inlined structs" -> { df =>
      val (id, time) = (df.columns.head, df.columns.last)
      df.selectExpr(s"inline(array(struct($id, $time)))")
    })

  /** Both inputs bring a row of the same time in each of five steps; the last of the left ones that match are every other.
    *
    * @param left makes of the stream and its columns what is joined
    */
  private def joined(kind: String)(left: Carrier, right: Carrier): Seq[BatchRun] = {
    val (a, as) = keyedRows("a", "ta")
    val (b, bs) = keyedRows("b", "tb")
    val condition = expr("a = b AND tb >= ta - INTERVAL 10 MINUTES AND tb <= ta + INTERVAL 10 MINUTES")
    val steps = Seq.tabulate(5) { step => () =>
      {
        val time = Timestamp.from(at("10:00").toInstant.plusSeconds(step * 1800L))
        a.addData(step -> time)
        b.addData((if (step == 2) step else 100 + step) -> time)
        ()
      }
    }
    withSQLConf(SQLConf.SHUFFLE_PARTITIONS.key -> "1") {
      record("append", left(as).join(right(bs), condition, kind), steps)
    }
  }

  private def sameAsStock(run: => Seq[BatchRun]): Unit = {
    val ours = run
    val theirs = stock(run)
    assert(theirs.flatMap(_.rows).nonEmpty)
    assertSameBatches(ours, theirs)
  }

  private def timed(time: String): Carrier = _.withWatermark(time, "0 seconds")

  for ((name, carrier) <- carriers) moreTestsIf(name != "mapped rows") {
    test(s"a left outer join matches stock Spark with $name on one side or on both") {
      sameAsStock(joined("left_outer")(timed("ta").andThen(carrier), timed("tb")))
      sameAsStock(joined("left_outer")(timed("ta").andThen(carrier), timed("tb").andThen(carrier)))
    }
  }

  testMore("an inner join with a mapped side evicts the same state as stock Spark") {
    sameAsStock(joined("inner")(timed("ta").andThen(mapped), timed("tb")))
  }

  testMore("a join matches stock Spark when one stream has only the schema of a stream with a watermark") {
    sameAsStock(joined("left_outer")(timed("ta"), df => marked(df, "tb")))
    sameAsStock(joined("left_outer")(df => marked(df, "ta"), timed("tb")))
  }

  testMore("the same rows are late on a mapped side as on a side that is not mapped") {
    def late(left: Carrier) = {
      val (a, as) = keyedRows("a", "ta")
      val (b, bs) = keyedRows("b", "tb")
      val df = left(as.withWatermark("ta", "0 seconds"))
        .join(bs.withWatermark("tb", "0 seconds"), expr("a = b AND tb >= ta AND tb <= ta + INTERVAL 2 HOURS"))
      record(
        "append",
        df.select($"a"),
        Seq(
          () => { a.addData(1 -> at("12:00")); b.addData(9 -> at("10:00")); () },
          () => { a.addData(2 -> at("11:00"), 3 -> at("12:30")); b.addData(2 -> at("11:10"), 3 -> at("12:40")); () }))
    }
    assert(rows(late(mapped)) === Seq("[3]"))
    assert(late(mapped) === late(identity))
  }

  test("a common table expression that is read twice keeps its event time in both places") {
    sameAsStock {
      val (events, df) = keyedRows("k", "t")
      df.withWatermark("t", "0 seconds").createOrReplaceTempView("events")
      val query = spark.sql("""
        WITH e AS (SELECT *, rand() AS r FROM events)
        SELECT a.k, a.t, b.t AS u FROM e a LEFT JOIN e b
        ON a.k = b.k + 1 AND b.t >= a.t - INTERVAL 10 MINUTES AND b.t <= a.t + INTERVAL 10 MINUTES""")
      val steps = Seq("10:00", "10:05", "11:00", "12:00").zipWithIndex.map { case (time, step) =>
        () => { events.addData(step -> at(time)); () }
      }
      record("append", query, steps)
    }
  }

  test("a watermark on another column removes the event-time mark that a table brings along, as in stock Spark") {
    sameAsStock {
      val events = MemoryStream[(Int, Timestamp, Timestamp)]
      val df = marked(events.toDF().toDF("k", "at", "seen"), "at").withWatermark("seen", "0 seconds")
      val steps = Seq(("10:00", "10:00"), ("10:30", "10:05"), ("10:00", "10:00"), ("9:00", "10:40"), ("9:00", "10:45"))
        .map { case (first, second) => () => { events.addData((1, at(first), at(second))); () } }
      record("append", df.dropDuplicates("k", "at", "seen"), steps)
    }
  }

  test("a union of a table that a stream has written and a live input matches stock Spark, whatever marks it has") {
    sameAsStock {
      val (old, table) = keyedRows("k", "at")
      val (live, df) = keyedRows("k", "at")
      val other = df.select($"k", $"at").withWatermark("at", "0 seconds").withColumn("more", $"at")
      val united = marked(table.withColumn("more", $"at"), "more").union(other)
      val steps = Seq("10:00", "10:30", "11:00").zipWithIndex.map { case (time, step) =>
        () => { old.addData(step -> at(time)); live.addData(step -> at(time)); () }
      }
      record("append", united, steps)
    }
  }

}
