package org.apache.spark.sql.tidemark.marks

import io.tidemark.core.memory.NotedBy
import io.tidemark.core.noted.TopicLocation

import org.apache.hadoop.fs.Path

import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.tidemark.columns.OriginsOfPlan
import org.apache.spark.sql.tidemark.noted.{
  KafkaSource,
  MarkFolder,
  MarkLogReader,
  MarksOfTopic,
  MarkSource,
  MarkTopic,
  MarkWriter
}

/** Opens the mark logs of a query, for reading and for writing: folders and topics. */
private[tidemark] object MarkLogs {

  /** @throws io.tidemark.TidemarkException if a log is a topic, and Spark has no Kafka connector */
  def of(session: SparkSession, origins: OriginsOfPlan): NotedBy => MarkSource = {
    val logs = origins.all.flatMap(_.rules.noted).map(_.location)
    logs.find(TopicLocation.isTopic).foreach(KafkaSource.require(session, _))
    open(session, _)
  }

  private def open(session: SparkSession, log: NotedBy): MarkSource = TopicLocation.parse(log.location) match {
    case Some(TopicLocation(topic, stream)) =>
      MarkTopic(topic, stream)(MarksOfTopic(session, topic, log.options).open(committedOnly = true))
    case None =>
      new MarkLogReader(new MarkFolder(new Path(log.location), session.sessionState.newHadoopConf()))
  }

  /** @param options those of Spark's Kafka source and sink, if the log is a topic
    * @param warn tells the user what has happened to the log
    * @throws io.tidemark.TidemarkException if the log is a topic, and Spark has no Kafka connector
    */
  def writer(
      session: SparkSession,
      location: String,
      writer: String,
      options: Map[String, String],
      warn: String => Unit): MarkWriter =
    TopicLocation.parse(location) match {
      case Some(TopicLocation(topic, stream)) =>
        KafkaSource.require(session, location)
        val marks = MarksOfTopic(session, topic, MarksOfTopic.soon(options))
        MarkWriter.inTopic(location, marks, stream, writer, warn = warn)
      case None => MarkWriter.inFolder(location, session.sessionState.newHadoopConf(), writer, warn = warn)
    }
}
