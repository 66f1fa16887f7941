package org.apache.spark.sql.tidemark.support

import java.time.{LocalDateTime, ZoneOffset}

import scala.util.Random

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._

/** Runs a query as a stream and as a batch over the same rows, and expects the same rows in the end.
  *
  * Each of the three streams is in order and advances at its own speed, so that they are far apart. No row is late, so
  * none may be missing, and none may be emitted twice. In the end all streams jump to years that contain 203, so that
  * all earlier rows must be emitted.
  */
trait BatchComparison extends RecordedRuns {
  import BatchComparison._
  import testImplicits._

  /** @param query from the streams `a, ta`, `b, tb` and `c, tc`; each of its rows must contain a time
    * @param neverLater whether stock Spark can run the query too, and must emit no row earlier than Tidemark
    */
  protected def sameAsBatch(name: String, neverLater: Boolean = false, delay: String = "0 seconds")(
      query: (DataFrame, DataFrame, DataFrame) => DataFrame): Unit =
    test(name) {
      val expected = query.tupled(tables).collect().map(_.toString).filterNot(isEnd).sorted.toSeq
      assert(expected.nonEmpty)
      val ours = run(delay, query)
      assert(rows(ours).filterNot(isEnd) === expected)
      if (neverLater) {
        val theirs = firstSteps(stock(run(delay, query)))
        for ((row, step) <- firstSteps(ours)) assert(step <= theirs.getOrElse(row, Int.MaxValue), row)
      }
    }

  private def run(delay: String, query: (DataFrame, DataFrame, DataFrame) => DataFrame): Seq[BatchRun] = {
    val streams = Names.map(_ => MemoryStream[(Int, Long)])
    val inputs = streams.zip(Names).map { case (stream, name) =>
      timed(stream.toDF(), name).withWatermark(s"t$name", delay)
    }
    record(
      "append",
      query(inputs.head, inputs(1), inputs(2)),
      steps.map(step => () => streams.zip(step).foreach { case (s, r) => s.addData(r) }))
  }

  private def tables: (DataFrame, DataFrame, DataFrame) = {
    def all(stream: Int) = timed(steps.flatMap(_(stream)).toDF(), Names(stream))
    (all(0), all(1), all(2))
  }

  private def timed(rows: DataFrame, name: String): DataFrame =
    rows.toDF(name, "seconds").select(col(name), timestamp_seconds($"seconds").as(s"t$name"))
}

object BatchComparison {
  private val Names = Seq("a", "b", "c")
  private val MinutesPerStep = Seq(20, 7, 13)
  private val Steps = 4

  /** The rows that each step adds to each stream. */
  private val steps: Seq[Seq[Seq[(Int, Long)]]] = {
    val random = new Random(11)
    val ordinary = Seq.tabulate(Steps) { step =>
      MinutesPerStep.map { minutes =>
        // Times of a step are within its own minutes, so they are later than all earlier ones.
        Seq.fill(6)((random.nextInt(3), seconds(2024) + step * minutes * 60L + 1 + random.nextInt(minutes * 60 - 1)))
      }
    }
    // The last rows have an id of their own, so that they match one another only.
    val ends = Seq(2030, 2033, 2036).map(year => Names.map(_ => Seq((-1, seconds(year)))))
    ordinary ++ ends
  }

  private def seconds(year: Int): Long = LocalDateTime.of(year, 3, 1, 12, 0).toEpochSecond(ZoneOffset.UTC)

  private def isEnd(row: String): Boolean = row.contains("203")
}
