package org.apache.spark.sql.tidemark.marks

import java.io.{InterruptedIOException, IOException}
import java.nio.channels.ClosedByInterruptException

import scala.util.control.NonFatal

import io.tidemark.{NotedTimeErrors, TidemarkException}
import io.tidemark.core.Watermark
import io.tidemark.core.plan.{Decision, Propagation}

import org.apache.spark.internal.Logging
import org.apache.spark.sql.execution.streaming.OneTimeTrigger
import org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution
import org.apache.spark.sql.tidemark.batch.PlannedBatch
import org.apache.spark.sql.tidemark.columns.PlanNote
import org.apache.spark.sql.tidemark.noted.{MarkThreads, MarkWriter}
import org.apache.spark.sql.tidemark.planning.WatermarkTarget
import org.apache.spark.sql.tidemark.stream.SparkInternals

/** Notes how far the output of a query is, so that other queries can use it.
  *
  * What a batch notes is the watermark of a column as it leaves the last operator of that batch: rows of later batches are
  * later. A mark is never ahead of the rows that it speaks of, but it may lag behind them:
  *
  *   - A sink that knows its batches has the rows of a batch once. The mark is written when the batch has been written.
  *   - Any other sink may get the rows of a batch again, until Spark has committed it. The mark is written after that: when
  *     the query's progress is reported, or when its thread looks for the next batch, whichever is first.
  *   - What a batch notes is in its entry. A run begins by noting it again for the last batch that is committed.
  *
  * A position that can be read only while no batch is being written is read when the batch has been written, on the query's
  * thread. If that fails, it is read when the thread looks for the next batch.
  *
  * @param isCommitted whether Spark has committed a batch
  */
private[tidemark] final class OutputMarks private (
    label: String,
    outputs: Seq[OutputMarks.Output],
    isCommitted: Long => Boolean)
    extends Logging {
  import OutputMarks._

  // A batch that has ended, and the watermarks that are to be noted once it is committed.
  @volatile private var waiting = Option.empty[(Long, Seq[(Output, Watermark)])]
  private var hasBegun = false
  private var isClosed = false

  // After a failure, the query's thread leaves the log alone for a while.
  @volatile private var retryNanos = System.nanoTime()

  /** The report's entry for each column. */
  def status: Seq[Status] = outputs.map(_.status)

  /** What a batch notes, by the name of each output.
    * @param standing what would be decided after it
    */
  def watermarks(batch: PlannedBatch, standing: => Decision): Map[String, Watermark] =
    if (outputs.isEmpty) Map.empty
    else {
      val levels = batch.eviction
      // Without state, no row waits for a later batch, so what follows is later than all that has been seen.
      val root = if (levels.inputs.isEmpty) Propagation.levels(levels.root.shape, standing).root else levels.root
      outputs.map { entry =>
        val WatermarkTarget.Column(from, column) = batch.outputs(entry.note.id)
        val at = root.outOf(from).column(column).watermark
        // An operator with state may still have rows of an input that is idle, so readers must not leave it out.
        entry.name -> (if (levels.inputs.isEmpty) at else at.active)
      }.toMap
    }

  /** A batch has been written, and its entry. On the query's thread.
    * @throws TidemarkException if a mark cannot be written, and the query is to fail then
    */
  def written(batch: Long, marks: Map[String, Watermark]): Unit = if (outputs.nonEmpty) synchronized {
    val due = outputs.flatMap(entry => marks.get(entry.name).map(entry -> _)).filter { case (output, at) =>
      output.isDue(at)
    }
    due.foreach { case (output, _) => trying(output, mayFail = true)(output.look(batch)) }
    val (now, later) = due.partition(_._1.isBeforeCommit)
    val left = now.filterNot { case (output, at) => trying(output, mayFail = true)(output.note(at, batch)) } ++ later
    waiting = Option.when(left.nonEmpty)(batch -> left)
  }

  /** A run begins, and this is the last batch that is committed. From any thread.
    * @param isRunAgain whether an earlier run has begun the next batch, and may have written a part of it
    */
  def resume(batch: Long, marks: Map[String, Watermark], isRunAgain: Boolean): Unit = if (outputs.nonEmpty)
    synchronized {
      if (!hasBegun) {
        hasBegun = true
        val again =
          outputs.filterNot(_.isSeenBetween && isRunAgain).flatMap(entry => marks.get(entry.name).map(entry -> _))
        waiting = Option.when(again.nonEmpty)(batch -> again)
      }
    }

  /** Notes what waits for the commit of its batch. On the query's thread, before it looks for the next batch. */
  def look(): Unit = if (waiting.nonEmpty && System.nanoTime() - retryNanos >= 0) noteCommitted(isBetween = true)

  /** The same from any thread, later. */
  def lookLater(): Unit = if (waiting.nonEmpty) later(noteCommitted(isBetween = false))

  /** The query has ended. */
  def close(): Unit = if (outputs.nonEmpty) later {
    try noteCommitted(isBetween = false)
    finally synchronized {
        isClosed = true
        outputs.foreach(_.close())
      }
  }

  /** @param isBetween whether no batch is being written meanwhile. The query may fail then */
  private def noteCommitted(isBetween: Boolean): Unit = synchronized {
    waiting.filter { case (batch, _) => !isClosed && isCommitted(batch) }.foreach { case (batch, marks) =>
      val left = marks.filterNot { case (output, at) =>
        trying(output, mayFail = isBetween) {
          if (isBetween) output.look(batch)
          output.note(at, batch)
        }
      }
      waiting = Option.when(left.nonEmpty)(batch -> left)
    }
  }

  /** @return whether it has been done; a later batch notes more */
  private def trying(output: Output, mayFail: Boolean)(step: => Unit): Boolean =
    try {
      step
      true
    } catch {
      // An interrupt is how Spark stops a query.
      case e @ (_: InterruptedIOException | _: ClosedByInterruptException) => throw e
      case e: IOException =>
        retryNanos = System.nanoTime() + RetryNanos
        if (output.failed()) logWarning(s"Tidemark, query $label: ${unwritten(output, e)}", e)
        if (mayFail && output.note.options.failsQuery)
          throw new TidemarkException(NotedTimeErrors.MarkNotWritten(output.writer, output.location, e.getMessage), e)
        false
    }
}

private[tidemark] object OutputMarks extends Logging {

  /** A query that notes nothing. */
  val none: OutputMarks = new OutputMarks("", Nil, _ => false)

  /** @param timeMillis the last time that was noted; @param failures how many marks could not be written */
  final case class Status(column: String, location: String, writer: String, timeMillis: Option[Long], failures: Long)

  /** @throws TidemarkException if the query cannot note what it is to note */
  def of(execution: MicroBatchExecution, label: String): OutputMarks = {
    val notes = PlanNote.of(execution.analyzedPlan)
    if (notes.isEmpty) none
    else {
      val conf = SparkInternals.session(execution).sessionState.newHadoopConf()
      val isOnce = execution.trigger == OneTimeTrigger
      val outputs = notes.map { note =>
        val sink = OutputPosition.of(execution, note)
        val location = note.options.log.getOrElse(OutputPosition.logBeside(execution, note))
        val own = Option(execution.name).filter(MarkWriter.isName).getOrElse(execution.id.toString)
        val writer = note.options.writer.getOrElse(own)
        if (!MarkWriter.isName(writer))
          throw new TidemarkException(
            NotedTimeErrors.InvalidNoteTime(s"has a writer whose name is too long, '$writer'"))
        // A run of one batch never looks again.
        val marks = MarkLogs.writer(
          SparkInternals.session(execution),
          location,
          writer,
          OutputPosition.kafkaOptions(execution, note, location),
          message => logWarning(s"Tidemark, query $label: $message"))
        new Output(note, location, marks, sink, sink.writesOnce || isOnce)
      }
      val places =
        outputs.map(entry => entry.note.id -> (OutputPosition.qualified(entry.location, conf), entry.writer)).toMap
      PlanNote.requireApart(notes)(note => places(note.id))
      new OutputMarks(label, outputs, batch => execution.commitLog.getLatestBatchId().exists(_ >= batch))
    }
  }

  /** Runs something on another thread. */
  def later(what: => Unit): Unit = threads.execute { () =>
    try what
    catch { case NonFatal(e) => logWarning("Tidemark: a query's time could not be noted.", e) }
  }

  private def unwritten(output: Output, reason: IOException): String = reason match {
    case _: MarkWriter.Fenced =>
      s"another run notes times as writer '${output.writer}' in ${output.location}, and it began later. " +
        "This run notes nothing more there. Stop one of the two."
    case _ =>
      s"its time could not be noted in ${output.location}. Queries that use it wait. It is tried again with each batch."
  }

  private val RetryNanos = 5000000000L

  private lazy val threads = MarkThreads.pool("tidemark-notes")

  private final class Output(
      val note: PlanNote,
      val location: String,
      marks: MarkWriter,
      sink: OutputPosition,
      val isBeforeCommit: Boolean) {
    @volatile private var time = Option.empty[Long]
    @volatile private var failures = 0L
    private var isFailing = false

    /** What the checkpoint calls it. */
    val name: String = s"$location ${marks.writer} ${note.column}"
    def writer: String = marks.writer
    def status: Status = Status(note.column, location, writer, time, failures)

    def isSeenBetween: Boolean = sink.isSeenBetween
    def isDue(at: Watermark): Boolean = marks.isDue(noted(at), at.isIdle)
    def look(batch: Long): Unit = sink.look(batch)

    private def noted(at: Watermark) = at.millis.map(_ - note.options.lessMillis)

    def note(at: Watermark, batch: Long): Unit = {
      marks.note(noted(at), at.isIdle, sink.behind(batch))
      time = marks.timeMillis
      isFailing = false
    }

    def close(): Unit =
      try marks.close()
      finally sink.close()

    /** @return whether the mark before could be written */
    def failed(): Boolean = {
      failures += 1
      val isFirst = !isFailing
      isFailing = true
      isFirst
    }
  }
}
