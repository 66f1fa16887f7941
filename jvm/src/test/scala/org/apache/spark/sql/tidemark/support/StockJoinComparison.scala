package org.apache.spark.sql.tidemark.support

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.tidemark.support.Histories._

/** Joins of the streams `id, t` and `id2, t2`, on stock Spark and on Tidemark: the same, batch by batch. */
trait StockJoinComparison extends StockComparison {
  import testImplicits._

  protected type Joining = (DataFrame, DataFrame) => DataFrame

  protected val kinds: Seq[String] = Seq("inner", "left_outer", "right_outer", "full_outer", "left_semi")

  /** @param saying what some row has to have in it, so that it is compared
    * @param query its inputs have no watermarks yet
    */
  protected def sameJoin(
      name: String,
      histories: (History, History),
      mode: String = "append",
      saying: Seq[String] = Nil)(query: Joining): Unit =
    test(s"$name, in $mode mode") {
      def joined = {
        val (left, right) = (MemoryStream[Event], MemoryStream[Event])
        record(
          mode,
          query(timed(left), timed(right).select($"id".as("id2"), $"t".as("t2"))),
          histories._1.zip(histories._2).map { case (l, r) =>
            () => { left.addData(l); right.addData(r); () }
          })
      }
      val expected = stock(joined)
      assert(expected.exists(_.rows.nonEmpty) && expected.exists(_.operators.exists(_.late > 0)))
      for (word <- saying) assert(rows(expected).exists(_.contains(word)), word)
      assertSameBatches(joined, expected)
    }

  /** What rows without a match say, of which an outer join has some. */
  protected def unmatched(kind: String): Seq[String] = if (kind.contains("outer")) Seq("null") else Nil

  protected def byWindows(kind: String): Joining = (a, b) =>
    a.select($"id", window($"t", "5 minutes").as("w"))
      .join(b.select($"id2", window($"t2", "5 minutes").as("w2")), $"w" === $"w2" && $"id" === $"id2", kind)

  protected def byRange(kind: String): Joining = (a, b) =>
    a.join(b, $"id" === $"id2" && $"t2" > $"t" && $"t2" < $"t" + expr("INTERVAL 5 MINUTES"), kind)
}
