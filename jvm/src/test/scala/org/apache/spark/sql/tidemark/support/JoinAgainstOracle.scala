package org.apache.spark.sql.tidemark.support

import scala.util.Random

import org.apache.spark.sql.{Column, DataFrame}
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.tidemark.support.JoinOracle.{Row, Step}

/** Runs joins on histories in which each side advances at its own speed, and compares every step with the oracle. */
trait JoinAgainstOracle extends RecordedRuns {
  import testImplicits._

  /** @param name seeds the history too
    * @param conf settings beside the usual ones
    */
  protected def asTheOracleSays(name: String, kind: String, oracle: JoinOracle, conf: (String, String)*)(
      condition: => Column): Unit =
    test(s"a join matches the oracle: $name")(withSQLConf(conf: _*) {
      val steps = Iterator.from(name.hashCode).map(history).find(isTelling(kind, oracle)).get
      val (expected, late) = oracle.run(kind, steps)
      val batches = run(kind, condition, steps)
      for ((Step(out, kept), step) <- expected.zipWithIndex) {
        val ran = batches.filter(_.step == step)
        assert(ran.flatMap(_.rows).sorted === out, s"(step $step of $steps)")
        // A left semi join need not keep what has matched; a step without rows runs no batch.
        if (kind != "left_semi")
          for (last <- ran.lastOption)
            assert(last.operators.head.rows === kept.map(counted).sum, s"(rows in state, step $step of $steps)")
      }
      assert(batches.map(_.operators.head.late).sum === late)
    })

  /** How many rows Spark counts: from state format 4 on, rows with the same key and time count as one. */
  private def counted(kept: Seq[(Int, Long)]): Int =
    if (spark.sessionState.conf.getConf(SQLConf.STREAMING_JOIN_STATE_FORMAT_VERSION) < 4) kept.size
    else kept.distinct.size

  private def run(kind: String, condition: Column, steps: Seq[(Seq[Row], Seq[Row])]): Seq[BatchRun] = {
    val (left, right) = (MemoryStream[Row], MemoryStream[Row])
    def timed(stream: MemoryStream[Row], of: String): DataFrame = {
      val rows = stream.toDF()
        .select(
          $"_1".as(s"id$of"),
          timestamp_millis($"_2" * 60000L + JoinOracle.millis(0)).as(s"t$of"),
          $"_2".as(s"m$of"))
        .withWatermark(s"t$of", "0 seconds")
      if (!onWindows(condition)) rows
      else rows.select(col(s"id$of"), window(col(s"t$of"), "10 minutes").as(s"w$of"), col(s"m$of"))
    }
    val joined = timed(left, "").join(timed(right, "2"), condition, kind)
    def side(id: String, minute: String) = coalesce(concat(col(id), lit("@"), col(minute)), lit("-"))
    val other = if (kind == "left_semi") lit("-") else side("id2", "m2")
    record(
      "append",
      joined.select(concat(side("id", "m"), lit(" "), other)),
      steps.map { case (l, r) =>
        () => { left.addData(l); right.addData(r); () }
      })
  }

  /** Whether a history has matches, rows without a match, and late rows. */
  private def isTelling(kind: String, oracle: JoinOracle)(steps: Seq[(Seq[Row], Seq[Row])]): Boolean = {
    val (ran, late) = oracle.run(kind, steps)
    val (alone, joined) = ran.flatMap(_.out).partition(row => row.contains("-]") || row.startsWith("[-"))
    late > 0 && (kind == "inner" || alone.nonEmpty) && (kind == "left_semi" || joined.nonEmpty)
  }

  private def onWindows(condition: Column): Boolean = condition.toString.contains("w2")

  /** Each side advances by a random number of minutes in every step, and some of its rows are far behind. */
  private def history(seed: Int): Seq[(Seq[Row], Seq[Row])] = {
    val random = new Random(seed)
    var (left, right) = (600, 600)
    def rows(now: Int): Seq[Row] = Seq.fill(random.nextInt(7)) {
      (random.nextInt(2), now - random.nextInt(if (random.nextInt(3) == 0) 40 else 8))
    }
    Seq.fill(6) {
      left += random.nextInt(25)
      right += random.nextInt(25)
      (rows(left), rows(right))
    }
  }
}
