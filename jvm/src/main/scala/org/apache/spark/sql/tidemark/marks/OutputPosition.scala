package org.apache.spark.sql.tidemark.marks

import java.io.IOException
import java.util.Locale

import io.tidemark.{NotedTimeErrors, TidemarkException}
import io.tidemark.core.noted.{Position, TopicLocation}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import org.apache.spark.deploy.SparkHadoopUtil
import org.apache.spark.sql.execution.streaming.Sink
import org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution
import org.apache.spark.sql.execution.streaming.sources.{WriteToMicroBatchDataSource, WriteToMicroBatchDataSourceV1}
import org.apache.spark.sql.tidemark.columns.{KafkaOffsets, MarkLogPath, PlanNote}
import org.apache.spark.sql.tidemark.sources.{DeltaVersions, FilesIn, KafkaEnds}
import org.apache.spark.sql.tidemark.stream.SparkInternals

/** Where the rows of a query's output are, for the marks that the query writes.
  *
  * @param writesOnce whether a batch that runs again adds no rows to those that it has written. Its mark may then be written
  *   before Spark has committed the batch. Otherwise the rows would come again, behind the mark
  * @param isSeenBetween whether the position can be read only while no batch is being written
  */
private[tidemark] sealed abstract class OutputPosition(val writesOnce: Boolean, val isSeenBetween: Boolean = false) {

  /** Reads such a position, once for a batch that has just been written, and before the next one begins.
    * @throws java.io.IOException if it cannot be read
    */
  def look(batch: Long): Unit = ()

  /** A position behind all rows of a batch, which has just been written. It may be further: readers then wait longer.
    * @throws java.io.IOException if it cannot be read
    */
  def behind(batch: Long): Position

  def close(): Unit = ()
}

private[tidemark] object OutputPosition {

  /** Spark's file sink keeps a log of its batches. */
  private object Files extends OutputPosition(writesOnce = true) {
    override def behind(batch: Long): Position = Position.SinkBatch(batch)
  }

  /** The newest version of a Delta table. */
  private final class Delta(table: DeltaVersions, writesOnce: Boolean) extends OutputPosition(writesOnce) {
    override def behind(batch: Long): Position = table.latest
  }

  /** The ends of all partitions. */
  private final class Kafka(ends: KafkaEnds) extends OutputPosition(writesOnce = false) {
    override def behind(batch: Long): Position = ends.latest
    override def close(): Unit = ends.close()
  }

  /** All files in a folder. A batch that fails may leave some behind, and remove them when it runs again. Readers would wait
    * for them, so the folder is never listed while a batch is being written.
    */
  private final class Folder(files: FilesIn) extends OutputPosition(writesOnce = false, isSeenBetween = true) {
    private var seen = Option.empty[(Long, Position.Files)]

    override def look(batch: Long): Unit = if (!seen.exists(_._1 == batch)) {
      seen = None
      seen = Some(batch -> files.all)
    }

    override def behind(batch: Long): Position = seen.filter(_._1 == batch).getOrElse(
      throw new IOException(s"the files of batch $batch were not listed"))._2
  }

  /** @throws TidemarkException if neither the sink nor an option says where the rows are */
  def of(execution: MicroBatchExecution, note: PlanNote): OutputPosition = {
    val session = SparkInternals.session(execution)
    val options = writeOptions(execution)
    def delta(path: String, writesOnce: Boolean) =
      new Delta(new DeltaVersions(new Path(path), session.sessionState.newHadoopConf()), writesOnce)
    def kafka(topics: String) = {
      val reached = options ++ inLowerCase(note.options.positionOptions)
      requireOwnTopic(execution, note, topics.split(",").map(_.trim).toSet, reached.get(Brokers))
      new Kafka(new KafkaEnds(session, topics, reached))
    }
    val sink = execution.sink.getClass.getSimpleName
    (note.options.position.map(_.split(":", 2)), sink) match {
      case (Some(Array("kafka", topics)), _) => kafka(topics)
      case (Some(Array("delta", path)), _) => delta(path, writesOnce = false)
      case (Some(Array("files", path)), "FileStreamSink" | "DeltaSink") => refuseOwnLog(path)
      case (Some(Array("files", path)), _) => new Folder(filesIn(path, session.sessionState.newHadoopConf()))
      case (None, "FileStreamSink") => Files
      case (None, "DeltaSink") if options.contains("path") => delta(options("path"), writesOnce = true)
      case (None, _) if isKafka(execution) && options.contains("topic") =>
        requireAllReplicas(note, options.get("kafka.acks"))
        kafka(options("topic"))
      case _ => throw new TidemarkException(NotedTimeErrors.NoteTimeSinkUnknown(note.column, sink))
    }
  }

  /** A file of a batch that has failed would be listed, and no reader of the sink's own log ever reads it. */
  private def refuseOwnLog(folder: String): Nothing = throw new TidemarkException(NotedTimeErrors.InvalidNoteTime(
    s"has the position 'files:$folder', but the sink keeps a log of its files. Leave out the position"))

  private def filesIn(folder: String, conf: Configuration): FilesIn = {
    def refuse(what: String) = throw new TidemarkException(NotedTimeErrors.InvalidNoteTime(
      s"has the position 'files:$folder', which $what. Give the folder that has the files"))
    if (folder.isBlank) refuse("names no folder")
    val path = new Path(folder)
    if (SparkHadoopUtil.get.isGlobPath(path)) refuse("has wildcards")
    val files = new FilesIn(path, conf)
    if (files.isFile) refuse("is a file")
    files
  }

  /** Without this, a row may be acknowledged before the end of its partition includes it. */
  private def requireAllReplicas(note: PlanNote, acks: Option[String]): Unit =
    acks.filterNot(Set("all", "-1")).foreach { other =>
      throw new TidemarkException(NotedTimeErrors.NoteTimeSinkUnknown(note.column, s"Kafka with kafka.acks=$other"))
    }

  /** Consumers of the rows would read marks as rows. */
  private def requireOwnTopic(
      execution: MicroBatchExecution,
      note: PlanNote,
      topics: Set[String],
      brokers: Option[String]): Unit = for {
    location <- note.options.log
    log <- TopicLocation.parse(location)
    if topics(log.topic) && kafkaOptions(execution, note, location).get(Brokers) == brokers
  } throw new TidemarkException(
    NotedTimeErrors.InvalidNoteTime(s"has the mark log $location in a topic that has the rows"))

  private val Brokers = "kafka.bootstrap.servers"

  /** The location of a mark log, the same text for the same log. */
  def qualified(location: String, conf: Configuration): String =
    if (TopicLocation.isTopic(location)) location
    else {
      val path = new Path(location)
      path.getFileSystem(conf).makeQualified(path).toString
    }

  /** The options by which marks are written to a topic: those of the sink, of its position, and of the log.
    * @throws TidemarkException if no brokers are among them
    */
  def kafkaOptions(execution: MicroBatchExecution, note: PlanNote, location: String): Map[String, String] = {
    val sink = if (isKafka(execution)) writeOptions(execution) else Map.empty[String, String]
    val all = (sink ++ inLowerCase(note.options.positionOptions ++ note.options.logOptions))
      .filter { case (name, _) => name.startsWith("kafka.") }
    if (TopicLocation.isTopic(location) && !all.contains(Brokers))
      throw new TidemarkException(
        NotedTimeErrors.InvalidNoteTime(s"has the mark log $location, but no option $Brokers"))
    all
  }

  /** Where the mark log is if the user has only said that there is one: beside the rows. */
  def logBeside(execution: MicroBatchExecution, note: PlanNote): String =
    note.options.position.collect { case s"files:$folder" => folder }
      .orElse(writeOptions(execution).get("path")).map(MarkLogPath.in).getOrElse(
        throw new TidemarkException(NotedTimeErrors.NoteTimeSinkUnknown(
          note.column,
          execution.sink.getClass.getSimpleName)))

  private def isKafka(execution: MicroBatchExecution): Boolean =
    !execution.sink.isInstanceOf[Sink] && KafkaOffsets.isKafka(execution.sink)

  /** The options of the sink, with names in lower case. */
  private def writeOptions(execution: MicroBatchExecution): Map[String, String] =
    execution.logicalPlan.collectFirst {
      case write: WriteToMicroBatchDataSource => write.writeOptions
      case write: WriteToMicroBatchDataSourceV1 => write.writeOptions
    }.fold(Map.empty[String, String])(inLowerCase)

  private def inLowerCase(options: Map[String, String]): Map[String, String] =
    options.map { case (name, value) => name.toLowerCase(Locale.ROOT) -> value }
}
