package org.apache.spark.sql.tidemark

import java.io.File
import java.util.concurrent.{ConcurrentHashMap, ConcurrentLinkedQueue}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.{DataFrame, Dataset, Row}
import org.apache.spark.sql.execution.streaming.runtime.{MicroBatchExecution, StreamingQueryWrapper}
import org.apache.spark.sql.streaming.StreamingQueryProgress

/** What one batch did. The order of rows in a batch means nothing, so they are sorted.
  *
  * @param step the step of the history in which it ran
  */
final case class BatchRun(
    id: Long,
    step: Int,
    rows: Seq[String],
    eventTime: Map[String, String],
    operators: Seq[BatchRun.Operator])

object BatchRun {
  final case class Operator(name: String, rows: Long, updated: Long, removed: Long, late: Long)

  def operators(progress: StreamingQueryProgress): Seq[Operator] = progress.stateOperators.toSeq.map { o =>
    Operator(o.operatorName, o.numRowsTotal, o.numRowsUpdated, o.numRowsRemoved, o.numRowsDroppedByWatermark)
  }
}

/** Runs queries on histories, and writes down what each batch did. */
trait RecordedRuns extends KeyedWatermarkTest {

  /** One step of a history: brings rows into one or more streams. */
  protected type Step = () => Unit

  /** One query with its checkpoint; may be run in several runs, which go on where the one before has stopped. */
  protected final class Recorder(mode: String, checkpoint: File) {
    private val attempts = new ConcurrentLinkedQueue[(Long, Seq[String])]
    private val steps = new ConcurrentHashMap[Long, Int]
    private val progresses = new ConcurrentHashMap[Long, StreamingQueryProgress]
    private var step = 0

    /** Starts the query, takes the steps one by one (each to the end, with the batches without data) and stops it. */
    def run(query: DataFrame)(history: Step*): Unit = {
      val write: (Dataset[Row], Long) => Unit = (batch, id) => {
        attempts.add(id -> batch.collect().map(_.toString).sorted.toSeq)
        steps.put(id, step)
        ()
      }
      val running = query.writeStream
        .outputMode(mode)
        .option("checkpointLocation", checkpoint.getCanonicalPath)
        .foreachBatch(write)
        .start()
      val execution = running.asInstanceOf[StreamingQueryWrapper].streamingQuery.asInstanceOf[MicroBatchExecution]
      try {
        // What was not finished in the run before comes first.
        running.processAllAvailable()
        history.foreach { next =>
          // All that a step brings is read in one batch.
          execution.withProgressLocked(next())
          running.processAllAvailable()
          step += 1
        }
        assert(Takeovers.get(running.runId).isDefined === isKeyed)
      } finally {
        running.recentProgress.foreach(progress => progresses.put(progress.batchId, progress))
        running.stop()
      }
    }

    /** All batches in order; of a batch that was run again, the last run. */
    def batches: Seq[BatchRun] = rowsByBatch.toSeq.sortBy(_._1).map { case (id, runs) =>
      val progress = progresses.get(id)
      BatchRun(id, steps.get(id), runs.last, progress.eventTime.asScala.toMap, BatchRun.operators(progress))
    }

    /** What every run of a batch gave out, the first run first. */
    def runsOf(batch: Long): Seq[Seq[String]] = rowsByBatch(batch)

    private def rowsByBatch: Map[Long, Seq[Seq[String]]] = attempts.asScala.toSeq.groupMap(_._1)(_._2)
  }

  protected def isKeyed: Boolean = spark.conf.get("spark.tidemark.enabled", "true") == "true"

  /** One run from beginning to end, on a checkpoint of its own. */
  protected def record(mode: String, query: DataFrame, steps: Seq[Step]): Seq[BatchRun] = {
    var batches = Seq.empty[BatchRun]
    withTempDir { checkpoint =>
      val recorder = new Recorder(mode, checkpoint)
      recorder.run(query)(steps: _*)
      batches = recorder.batches
    }
    batches
  }

  protected def stock[A](body: => A): A = {
    var result: Option[A] = None
    withSQLConf("spark.tidemark.enabled" -> "false") { result = Some(body) }
    result.get
  }

  /** Fails at the first batch in which two runs differ. */
  protected def assertSameBatches(actual: Seq[BatchRun], expected: Seq[BatchRun]): Unit = {
    actual.zip(expected).foreach { case (a, e) => assert(a === e, s"(batch ${e.id})") }
    assert(actual.size === expected.size)
    ()
  }
}
