package org.apache.spark.sql.tidemark.support

import java.io.File
import java.util.concurrent.ConcurrentLinkedQueue

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.{DataFrame, Dataset, Row}
import org.apache.spark.sql.execution.streaming.runtime.{MicroBatchExecution, StreamingQueryWrapper}
import org.apache.spark.sql.streaming.{StreamingQuery, StreamingQueryProgress, Trigger}

/** What one batch did. The order of rows in a batch means nothing, so they are sorted.
  *
  * @param step the step of the history in which it ran
  */
final case class BatchRun(
    id: Long,
    step: Int,
    rows: Seq[String],
    eventTime: Map[String, String],
    operators: Seq[BatchRun.Operator]) {

  /** Whether it read no rows, emitted none, and changed no state: stock Spark runs such batches, Tidemark may not. */
  def didNothing: Boolean =
    rows.isEmpty && !eventTime.contains("max") && operators.forall(o => o.updated + o.removed + o.late == 0)
}

object BatchRun {
  final case class Operator(name: String, rows: Long, updated: Long, removed: Long, late: Long)

  def operators(progress: StreamingQueryProgress): Seq[Operator] = progress.stateOperators.toSeq.map { o =>
    Operator(o.operatorName, o.numRowsTotal, o.numRowsUpdated, o.numRowsRemoved, o.numRowsDroppedByWatermark)
  }
}

/** Runs queries on histories, and writes down what each batch did. */
trait RecordedRuns extends WatermarkTest {

  /** One step of a history: brings rows into one or more streams. */
  protected type Step = () => Unit

  /** One query with its checkpoint; may be run in several runs, which go on where the one before has stopped. */
  protected final class Recorder(mode: String, val checkpoint: File) {
    private val written = new ConcurrentLinkedQueue[(Long, Int, Seq[String])]
    private val finished = mutable.ArrayBuffer.empty[BatchRun]
    private var step = 0

    /** The sink has taken a batch, and is about to say so. */
    var atSink: () => Unit = () => ()

    /** Batches that the sink leaves unread, because it has taken them already. */
    var passesOver: Set[Long] = Set.empty

    /** Starts the query, takes the steps one by one (each to the end, with the batches without data) and stops it. */
    def run(query: DataFrame, trigger: Trigger = Trigger.ProcessingTime(0))(history: Step*): Unit = {
      val write: (Dataset[Row], Long) => Unit = (batch, id) =>
        if (!passesOver.contains(id)) {
          written.add((id, step, batch.collect().map(_.toString).sorted.toSeq))
          atSink()
        }
      val running = query.writeStream
        .outputMode(mode)
        .trigger(trigger)
        .option("checkpointLocation", checkpoint.getCanonicalPath)
        .foreachBatch(write)
        .start()
      try {
        // What was not finished in the run before comes first.
        running.processAllAvailable()
        history.foreach { next =>
          take(running, next)
          step += 1
        }
      } finally {
        val progress = running.recentProgress.map(p => p.batchId -> p).toMap
        finished ++= written.asScala.collect {
          case (id, in, rows) if progress.contains(id) =>
            BatchRun(id, in, rows, progress(id).eventTime.asScala.toMap, BatchRun.operators(progress(id)))
        }
        written.clear()
        running.stop()
      }
    }

    /** All batches in order; of a batch that was run again, the last run. */
    def batches: Seq[BatchRun] = finished.toSeq.groupBy(_.id).toSeq.sortBy(_._1).map(_._2.last)

    /** Every run of a batch, the first one first. */
    def runsOf(batch: Long): Seq[BatchRun] = finished.toSeq.filter(_.id == batch)
  }

  /** Takes a step, and waits until all that it brings has been read, in one batch. */
  protected def take(running: StreamingQuery, step: Step): Unit = {
    running.asInstanceOf[StreamingQueryWrapper].streamingQuery.asInstanceOf[MicroBatchExecution]
      .withProgressLocked(step())
    running.processAllAvailable()
  }

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

  /** Fails at the first batch in which two runs differ. Batches that did nothing do not count. */
  protected def assertSameBatches(actual: Seq[BatchRun], expected: Seq[BatchRun]): Unit = {
    def counted(batches: Seq[BatchRun]) = batches.filterNot(_.didNothing)
    counted(actual).zip(counted(expected)).foreach { case (a, e) =>
      assert(a.copy(id = e.id) === e, s"(batch ${e.id})")
    }
    assert(counted(actual).size === counted(expected).size)
    ()
  }

  /** The step in which each row came out first. */
  protected def firstSteps(batches: Seq[BatchRun]): Map[String, Int] =
    batches.reverse.flatMap(batch => batch.rows.map(_ -> batch.step)).toMap

  protected def rows(batches: Seq[BatchRun]): Seq[String] = batches.flatMap(_.rows).sorted
}
