package org.apache.spark.sql.tidemark.report

import java.nio.charset.StandardCharsets.UTF_8

import scala.util.control.NonFatal

import io.tidemark.{NotedTimeErrors, TidemarkException}
import io.tidemark.core.noted.TopicLocation

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.classic.{Dataset, SparkSession}
import org.apache.spark.sql.connector.read.streaming.ReadLimit
import org.apache.spark.sql.tidemark.noted.{KafkaSource, MarksOfTopic, MarkText, MarkTopic}

/** The marks of a mark log in a Kafka topic as a table. Spark's own Kafka source reads the topic, and tasks its partitions. */
private[report] object TopicMarksTable {

  private val Brokers = "kafka.bootstrap.servers"

  /** @param options those of Spark's Kafka source
    * @throws TidemarkException if there is no such topic
    */
  def apply(session: SparkSession, location: String, options: Map[String, String]): DataFrame = {
    def refused(reason: String, cause: Throwable = null) =
      throw new TidemarkException(NotedTimeErrors.NoMarkLog(location, reason), cause)
    val log = TopicLocation.parse(location).getOrElse(refused("it is not kafka:<topic>/<stream>"))
    if (!options.contains(Brokers)) refused(s"the option $Brokers is not given")
    KafkaSource.require(session, location)
    try requireThere(MarksOfTopic(session, log.topic, options))
    catch { case NonFatal(e) => refused(e.getMessage, e) }
    val all = MarksOfTopic.read(session, log.topic, options).asInstanceOf[Dataset[_]]
    val stream = log.stream
    val rows = all.queryExecution.toRdd.mapPartitions { rows =>
      val start = stream.getBytes(UTF_8)
      rows.flatMap(rowOf(start, _))
    }
    // A record may be written twice, and of two clients not even into the same partition.
    session.internalCreateDataFrame(rows, MarksTable.schema).dropDuplicates("writer", "epoch", "number", "skipped")
  }

  private def requireThere(topic: MarksOfTopic): Unit = {
    val stream = topic.open(committedOnly = true)
    try if (stream.latestOffset(stream.deserializeOffset("{}"), ReadLimit.allAvailable()) == null)
        throw new IllegalStateException("the topic has no partitions")
    finally stream.stop()
  }

  /** None for records of other streams, and for claims.
    * @param start how the keys of this stream begin
    */
  private def rowOf(start: Array[Byte], row: InternalRow): Option[InternalRow] = {
    def bytes(at: Int) = Option.when(!row.isNullAt(at))(row.getBinary(at))
    def skipped(writer: Option[String], why: MarkText.Unusable) = {
      val epoch = bytes(1).filter(_ => writer.nonEmpty).flatMap(MarkText.epoch).map(_.epoch)
      Some(MarksTable.rowOf(
        writer,
        epoch,
        s"offset ${row.getLong(4)} of ${row.getUTF8String(2)}-${row.getInt(3)}: ${why.reason}"))
    }
    try
      MarkTopic.writerOf(bytes(0), start).flatMap { writer =>
        try MarkText.record(bytes(1).getOrElse(throw new MarkText.Unusable("json")), writer).map(MarksTable.rowOf)
        catch { case why: MarkText.Unusable => skipped(Some(writer), why) }
      }
    catch { case why: MarkText.Unusable => skipped(None, why) }
  }
}
