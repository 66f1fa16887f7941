package org.apache.spark.sql.tidemark.noted

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.classic.SparkSession

/** The topic of a mark log, as it is opened for reading and writing. */
private[tidemark] trait MarksOfTopic {
  def name: String

  /** A source of its records.
    * @param committedOnly whether records of open and aborted transactions are left out
    */
  def open(committedOnly: Boolean): KafkaSource.Stream

  def sender: TopicSender
}

private[tidemark] object MarksOfTopic {

  /** The records of a topic as a table, without those of open and aborted transactions.
    * @param options those of Spark's Kafka source
    */
  def read(session: SparkSession, topic: String, options: Map[String, String]): DataFrame =
    session.read.format("kafka").options(sourceOptions(options, committedOnly = true)).option("subscribe", topic).load()

  /** By Spark's own Kafka connector.
    * @param options those of its source and its sink, as `kafka.bootstrap.servers`
    */
  def apply(session: SparkSession, topic: String, options: Map[String, String]): MarksOfTopic = new MarksOfTopic {
    override def name: String = topic

    override def open(committedOnly: Boolean): KafkaSource.Stream =
      KafkaSource.open(session, topic, sourceOptions(options, committedOnly))

    override def sender: TopicSender =
      KafkaSink.open(session, topic, sharedOf(options) ++ Map("kafka.acks" -> "all"))
  }

  private def sourceOptions(options: Map[String, String], committedOnly: Boolean): Map[String, String] =
    sharedOf(options) ++ Map(
      "kafka.isolation.level" -> (if (committedOnly) "read_committed" else "read_uncommitted"),
      // Kafka removes old marks. Leaving them out is sound.
      "failOnDataLoss" -> "false")

  private def sharedOf(options: Map[String, String]) = options.filter { case (option, _) => !NotShared(option) }

  // Sources do not want them, or they are fixed.
  private val NotShared = Set(
    "kafka.acks",
    "kafka.group.id",
    "kafka.interceptor.classes",
    "kafka.isolation.level",
    "kafka.transactional.id")

  /** Options by which a query does not wait for brokers as long as it could, some minutes: its marks may be late. Those of
    * the user count, if there are any.
    */
  def soon(options: Map[String, String]): Map[String, String] =
    if (options.keysIterator.exists(Patience.contains)) options else options ++ Patience

  private val Patience = Map(
    "kafka.max.block.ms" -> "10000",
    "kafka.request.timeout.ms" -> "5000",
    "kafka.delivery.timeout.ms" -> "10000",
    "kafka.default.api.timeout.ms" -> "10000",
    "fetchOffset.numRetries" -> "1")
}
