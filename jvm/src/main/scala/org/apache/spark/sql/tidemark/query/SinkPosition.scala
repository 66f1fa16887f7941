package org.apache.spark.sql.tidemark.query

import java.util.Locale

import io.tidemark.{TidemarkError, TidemarkException}
import io.tidemark.core.noted.Position

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import org.apache.spark.sql.execution.streaming.Sink
import org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution
import org.apache.spark.sql.execution.streaming.sources.{WriteToMicroBatchDataSource, WriteToMicroBatchDataSourceV1}
import org.apache.spark.sql.tidemark.columns.{MarkLogPath, PlanNote}

/** Where the rows of a query's output are, for the marks that the query writes.
  *
  * @param writesOnce whether a batch that runs again adds no rows to those that it has written. Its mark may then be written
  *   before Spark has committed the batch. Otherwise the rows would come again, behind the mark
  */
private[tidemark] sealed abstract class SinkPosition(val writesOnce: Boolean) {

  /** A position behind all rows of a batch, which has just been written. It may be further: readers then wait longer.
    * @throws java.io.IOException if it cannot be read
    */
  def behind(batch: Long): Position

  def close(): Unit = ()
}

private[tidemark] object SinkPosition {

  /** Spark's file sink keeps a log of its batches. */
  private object Files extends SinkPosition(writesOnce = true) {
    override def behind(batch: Long): Position = Position.SinkBatch(batch)
  }

  /** The newest version of a Delta table. */
  private final class Delta(table: DeltaVersions, writesOnce: Boolean) extends SinkPosition(writesOnce) {
    override def behind(batch: Long): Position = table.latest
  }

  /** The ends of all partitions. */
  private final class Kafka(ends: KafkaEnds) extends SinkPosition(writesOnce = false) {
    override def behind(batch: Long): Position = ends.latest
    override def close(): Unit = ends.close()
  }

  /** @throws TidemarkException if nobody says where the rows are */
  def of(execution: MicroBatchExecution, note: PlanNote): SinkPosition = {
    val session = SparkInternals.session(execution)
    val options = writeOptions(execution)
    def delta(path: String, writesOnce: Boolean) =
      new Delta(new DeltaVersions(new Path(path), session.sessionState.newHadoopConf()), writesOnce)
    def kafka(topics: String) = new Kafka(new KafkaEnds(session, topics, options ++ note.options.positionOptions))
    val sink = execution.sink.getClass.getSimpleName
    (note.options.position.map(_.split(":", 2)), sink) match {
      case (Some(Array("kafka", topics)), _) => kafka(topics)
      case (Some(Array("delta", path)), _) => delta(path, writesOnce = false)
      case (None, "FileStreamSink") => Files
      case (None, "DeltaSink") if options.contains("path") => delta(options("path"), writesOnce = true)
      case (None, _) if isKafka(execution) && options.contains("topic") =>
        requireAllReplicas(note, options.get("kafka.acks"))
        kafka(options("topic"))
      case _ => throw new TidemarkException(TidemarkError.NoteTimeSinkUnknown(note.column, sink))
    }
  }

  /** Without this, a row may be acknowledged before the end of its partition includes it. */
  private def requireAllReplicas(note: PlanNote, acks: Option[String]): Unit =
    acks.filterNot(Set("all", "-1")).foreach { other =>
      throw new TidemarkException(TidemarkError.NoteTimeSinkUnknown(note.column, s"Kafka with kafka.acks=$other"))
    }

  def qualified(location: String, conf: Configuration): String = {
    val path = new Path(location)
    path.getFileSystem(conf).makeQualified(path).toString
  }

  /** Where the mark log is if the user has only said that there is one: beside the rows. */
  def logBeside(execution: MicroBatchExecution, note: PlanNote): String =
    writeOptions(execution).get("path").map(MarkLogPath.in).getOrElse(
      throw new TidemarkException(TidemarkError.NoteTimeSinkUnknown(
        note.column,
        execution.sink.getClass.getSimpleName)))

  private def isKafka(execution: MicroBatchExecution): Boolean =
    !execution.sink.isInstanceOf[Sink] && ReadPositions.isKafka(execution.sink)

  /** The options of the sink, with names in lower case. */
  private def writeOptions(execution: MicroBatchExecution): Map[String, String] =
    execution.logicalPlan.collectFirst {
      case write: WriteToMicroBatchDataSource => write.writeOptions
      case write: WriteToMicroBatchDataSourceV1 => write.writeOptions
    }.getOrElse(Map.empty).map { case (name, value) => name.toLowerCase(Locale.ROOT) -> value }
}
