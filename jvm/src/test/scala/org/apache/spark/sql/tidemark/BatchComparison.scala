package org.apache.spark.sql.tidemark

import java.time.{LocalDateTime, ZoneOffset}

import scala.util.Random

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._

/** Runs a query as a stream and as a batch over the same rows: the same rows come out in the end.
  *
  * Three streams, each in order and each at a pace of its own, so that they are far apart. No row is late, so nothing may
  * be missing and nothing may come twice. In the end all of them jump to years with 203 in them, and everything before
  * has to come out.
  */
trait BatchComparison extends RecordedRuns {
  import BatchComparison._
  import testImplicits._

  /** @param query from the streams `a, ta`, `b, tb` and `c, tc`; its rows must bear a time wherever they come from
    * @param neverLater whether stock Spark runs it too, and its rows come no earlier than ours
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

  /** What each step brings to each stream. */
  private val steps: Seq[Seq[Seq[(Int, Long)]]] = {
    val random = new Random(11)
    val ordinary = Seq.tabulate(Steps) { step =>
      MinutesPerStep.map { minutes =>
        // Later than all before: times of a step are within its own minutes.
        Seq.fill(6)((random.nextInt(3), seconds(2024) + step * minutes * 60L + 1 + random.nextInt(minutes * 60 - 1)))
      }
    }
    // An id of their own, so that the ends of the streams match one another only.
    val ends = Seq(2030, 2033, 2036).map(year => Names.map(_ => Seq((-1, seconds(year)))))
    ordinary ++ ends
  }

  private def seconds(year: Int): Long = LocalDateTime.of(year, 3, 1, 12, 0).toEpochSecond(ZoneOffset.UTC)

  private def isEnd(row: String): Boolean = row.contains("203")
}
