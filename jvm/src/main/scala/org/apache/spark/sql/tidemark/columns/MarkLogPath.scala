package org.apache.spark.sql.tidemark.columns

import java.util.Locale

import scala.jdk.CollectionConverters._

import io.tidemark.{TidemarkError, TidemarkException}
import io.tidemark.core.memory.NotedBy
import io.tidemark.core.noted.TopicLocation

import org.apache.hadoop.fs.Path

import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2
import org.apache.spark.sql.execution.streaming.runtime.StreamingRelation

/** Where the mark log of an input is, and how it is reached. */
private[tidemark] object MarkLogPath {

  /** The mark log beside the data in a path. Spark's file source and Delta's clean-up pass over names that begin with an
    * underscore.
    */
  def in(path: String): String = new Path(path, "_tidemark").toString

  /** Whether a text can be the location of a mark log: a folder, and not a topic. */
  def isFolder(text: String): Boolean = !text.isBlank && !TopicLocation.isTopic(text)

  /** Whether a text can be the location of a mark log. */
  def isLocation(text: String): Boolean = isFolder(text) || TopicLocation.parse(text).nonEmpty

  /** The mark log of an input. A topic is read with the settings of the input, if that reads Kafka too.
    * @throws TidemarkException if the user has not said enough to find it
    */
  def of(noted: EventTimeOptions.Noted, origin: EventTimeWatermark): NotedBy = {
    val location = noted.location.getOrElse(beside(origin))
    val options = if (TopicLocation.isTopic(location)) kafkaOptions(origin) ++ noted.options else noted.options
    if (TopicLocation.isTopic(location) && !options.contains(Brokers)) {
      val needed = s"a topic on the brokers of the input, or with options that have $Brokers"
      throw new TidemarkException(TidemarkError.InvalidOption("noted", location, Seq(needed)))
    }
    NotedBy(location, noted.onlyExpected, options)
  }

  private val Brokers = "kafka.bootstrap.servers"

  /** The settings of the brokers that the input reads from; none if it reads from several. */
  private def kafkaOptions(origin: EventTimeWatermark): Map[String, String] = {
    val all = origin.child.collect {
      case kafka: StreamingRelationV2 if kafka.sourceName == "kafka" =>
        kafka.extraOptions.asCaseSensitiveMap.asScala.toMap
          .map { case (name, value) => (if (isOfKafka(name)) name.toLowerCase(Locale.ROOT) else name) -> value }
          .filter { case (name, _) => isOfKafka(name) && name != "kafka.group.id" }
    }
    all.headOption.filter(first => all.map(_.get(Brokers)).distinct.size == 1 && first.nonEmpty).getOrElse(Map.empty)
  }

  private def isOfKafka(name: String): Boolean = name.toLowerCase(Locale.ROOT).startsWith("kafka.")

  /** @throws TidemarkException if the input does not read one path */
  def beside(origin: EventTimeWatermark): String = {
    val paths = origin.child.collect {
      case files: StreamingRelation => files.dataSource.options.get("path")
      case table: StreamingRelationV2 => Option(table.extraOptions.get("path"))
    }
    paths.distinct match {
      case Seq(Some(path)) => in(path)
      case _ =>
        throw new TidemarkException(
          TidemarkError.InvalidOption(
            "noted",
            "true",
            Seq("the location of the mark log, as the input reads no single path")))
    }
  }
}
