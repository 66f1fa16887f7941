package org.apache.spark.sql.tidemark.support

import java.io.File

import io.tidemark.oracle.{Carrier, Case, Oracle, Query, RandomCase, Row, Step}

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import org.apache.spark.SparkConf
import org.apache.spark.sql.classic
import org.apache.spark.sql.execution.streaming.runtime.{StreamExecution, StreamingQueryWrapper}
import org.apache.spark.sql.execution.streaming.sources.MemorySink
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.streaming.util.StreamManualClock
import org.apache.spark.sql.tidemark.query.RunningQueries
import org.apache.spark.sql.tidemark.report.Report

/** Runs a case as a query of Spark's with the engine on, trigger by trigger of a clock that only the case moves. */
trait OracleComparison extends WatermarkTest {
  override protected def sparkConf: SparkConf =
    super.sparkConf
      .set(SQLConf.SHUFFLE_PARTITIONS.key, "1")
      .set("spark.sql.extensions", s"io.tidemark.TidemarkExtension,${classOf[PythonMaps].getName}")

  /** Removes Hadoop's thousand defaults, which are the same in its code. Each stateful operator broadcasts all settings in each
    * batch, and Hadoop compresses the name of the file that a setting came from: a third of the time of the query's thread.
    * Hadoop reads its defaults again when one of its modules is loaded, so each case removes them.
    */
  protected def removeHadoopDefaults(): Unit = {
    val settings = spark.sparkContext.hadoopConfiguration
    settings.clear()
    for ((key, value) <- spark.sparkContext.getConf.getAllWithPrefix("spark.hadoop.")) settings.set(key, value)
  }

  /** What differs, in words; `None` where both have the same in every step. A batch that emits nothing and drops nothing
    * is as good as none: the oracle runs one whenever a watermark has advanced.
    */
  protected def difference(example: Case)(
      actual: Case => Seq[Option[Oracle.Batch]],
      expected: Case => Seq[Option[Oracle.Batch]]): Option[String] =
    try
      expected(example).zip(actual(example)).zipWithIndex.collectFirst {
        case ((wanted, found), step) if wanted.filterNot(isIdle) != found.filterNot(isIdle) =>
          s"step $step of $example\n  expected: ${wanted.getOrElse("no batch")}\n  found: ${found.getOrElse("no batch")}"
      }
    catch { case e: Exception => Some(s"$example\n  failed: ${e.toString.linesIterator.next()}") }

  private def isIdle(batch: Oracle.Batch): Boolean = batch == Oracle.Batch(Nil, 0)

  /** What comes of each step of a case. */
  protected def engine(example: Case): Seq[Option[Oracle.Batch]] = {
    var result = Seq.empty[Option[Oracle.Batch]]
    removeHadoopDefaults()
    withTempDir { checkpoint =>
      val driver = new Driver(example.query, checkpoint)
      try result = example.steps.map(driver.take)
      finally driver.stop()
    }
    result
  }

  protected def classicSession: classic.SparkSession = spark.asInstanceOf[classic.SparkSession]

  /** A query that runs a step at a time. */
  protected final class Driver(query: Query, checkpoint: File) {
    val queries = new SparkQueries(classicSession, query)
    private val sink = new MemorySink
    private val clock = new StreamManualClock(RandomCase.Begin * 1000L)
    private var running = start()
    private var last = sink.latestBatchId

    def take(step: Step): Option[Oracle.Batch] = {
      if (step.restart) {
        running.stop()
        running = start()
      }
      step.rows.foreach { case (input, rows) => if (rows.nonEmpty) queries.add(input, rows) }
      clock.advance(step.seconds * 1000L)
      waited(running)
      val before = last.getOrElse(-1L)
      last = sink.latestBatchId
      val batches = last.fold(0L)(_ - before)
      // One may have run at the restart.
      assert(batches <= (if (step.restart) 2 else 1))
      val rows = sink.dataSinceBatch(before).map(_.getString(0))
      if (batches == 1) requireOrder(rows)
      Option.when(batches > 0)(Oracle.Batch(rows.sorted, lateAfter(before)))
    }

    /** What comes out of an order itself is in that order. */
    private def requireOrder(rows: Seq[String]): Unit = query match {
      case ordered: Query.Ordered => assert(ordered.isOf(rows.map(Row.of)), s"not in order: $rows")
      case Query.Through(ordered: Query.Ordered, Carrier.Called) =>
        assert(ordered.isOf(rows.map(Row.of)), s"not in order after calls: $rows")
      case _ =>
    }

    /** What is said of the query now. */
    def why: JsonNode =
      new ObjectMapper().readTree(RunningQueries.report(running.runId, Report.json).get).get("why")

    def stop(): Unit = running.stop()

    private def start(): StreamExecution = {
      val started = classicSession.sessionState.streamingQueryManager.startQuery(
        None,
        None,
        Some(checkpoint.getCanonicalPath),
        queries.texts,
        Map.empty,
        sink,
        queries.mode,
        trigger = Trigger.ProcessingTime("1 second"),
        triggerClock = clock)
      val begun = started.asInstanceOf[StreamingQueryWrapper].streamingQuery
      waited(begun)
      begun
    }

    /** Until the trigger that the clock asks for has done its work. */
    private def waited(query: StreamExecution): Unit = {
      eventually(timeout(streamingTimeout)) {
        assert(query.exception.nonEmpty || clock.isStreamWaitingAt(clock.getTimeMillis()))
      }
      query.exception.foreach(throw _)
    }

    private def lateAfter(batch: Long): Int =
      running.recentProgress.filter(_.batchId > batch).groupBy(_.batchId).values.map { progress =>
        Option(progress.last.observedMetrics.get("tidemark")).fold(0)(_.getAs[Long]("late_rows").toInt)
      }.sum
  }
}
