package org.apache.spark.sql.tidemark.report

import scala.jdk.CollectionConverters._
import scala.util.Try

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import com.fasterxml.jackson.databind.node.ObjectNode

/** How far a query had read a source at the end of a batch, in the words of the source's own reader.
  *
  * @param kind what the offset says of the source: `kafka`, `delta`, `files`, or `other`
  * @param starting where a reader begins that reads what comes after: Kafka's `startingOffsets`, Delta's `startingVersion`
  * @param ending where a reader ends that reads what comes before: Kafka's `endingOffsets`, Delta's `endingVersion`
  * @param logOffset the last batch of Spark's log of files that is in it
  */
private[tidemark] final case class SourceCut(
    kind: String,
    starting: Option[String] = None,
    ending: Option[String] = None,
    logOffset: Option[Long] = None)

private[tidemark] object SourceCut {
  private val mapper = new ObjectMapper()

  /** @param json the offset in Spark's log
    * @param newest the newest offset of the source in that log: partitions of Kafka may have come later
    */
  def of(json: String, newest: String): SourceCut = parsed(json) match {
    case Some(node) if node.has("reservoirVersion") => delta(node)
    case Some(node) if node.has("logOffset") && node.size == 1 =>
      SourceCut("files", logOffset = Some(node.get("logOffset").asLong))
    case Some(node) if isKafka(node) => kafka(node, parsed(newest).filter(isKafka).getOrElse(node))
    case _ => SourceCut("other")
  }

  private def parsed(json: String): Option[JsonNode] = Try(mapper.readTree(json)).toOption.filter(_.isObject)

  private def isKafka(node: JsonNode): Boolean = node.size > 0 && node.elements.asScala.forall { topic =>
    topic.isObject && topic.fieldNames.asScala.forall(_.forall(_.isDigit)) &&
    topic.elements.asScala.forall(_.isIntegralNumber)
  }

  // Kafka's reader wants every partition named. A later partition was empty: all of it comes after, and nothing before.
  private def kafka(node: JsonNode, newest: JsonNode): SourceCut =
    SourceCut("kafka", Some(withPartitionsOf(node, newest, -2L)), Some(withPartitionsOf(node, newest, 0L)))

  private def withPartitionsOf(node: JsonNode, newest: JsonNode, offset: Long): String = {
    val all = node.deepCopy[ObjectNode]()
    newest.fieldNames.asScala.foreach { topic =>
      val partitions = if (all.has(topic)) all.get(topic).asInstanceOf[ObjectNode] else all.putObject(topic)
      newest.get(topic).fieldNames.asScala.filterNot(partitions.has).foreach(partitions.put(_, offset))
    }
    mapper.writeValueAsString(all)
  }

  // An offset of Delta is a version and a file in it; all files of the version before have been read. An index below zero
  // is before the first file. While the table as it was at the start is being read, no version says what was read.
  private def delta(node: JsonNode): SourceCut = {
    val version = node.get("reservoirVersion").asLong
    if (node.path("isStartingVersion").asBoolean) SourceCut("delta")
    else {
      val isBetween = node.path("index").asLong < 0
      SourceCut("delta", Some(version.toString), Some((if (isBetween) version - 1 else version).toString))
    }
  }
}
