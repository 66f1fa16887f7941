package org.apache.spark.sql.tidemark.noted

import java.nio.charset.StandardCharsets

import scala.jdk.CollectionConverters._

import io.tidemark.core.noted.Position

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.{JsonNodeFactory, ObjectNode}

/** A position as JSON, with strict types. */
private[tidemark] object PositionText {

  /** The most partitions or files that one mark may name. */
  val MostEntries = 10000

  /** Half of what a line may have. Kafka's brokers take no larger records unless they are told to. */
  private val MostBytesOfFiles = MarkText.MostLineBytes / 2

  /** Files in as few parts as marks may name them in; at least one part. */
  def parts(files: Set[String]): Seq[Set[String]] = {
    val parts = Seq.newBuilder[Set[String]]
    var part = Set.empty[String]
    var bytes = 0
    files.foreach { name =>
      val more = JsonNodeFactory.instance.textNode(name).toString.getBytes(StandardCharsets.UTF_8).length + 1
      if (part.size == MostEntries || bytes + more > MostBytesOfFiles) {
        parts += part
        part = Set.empty
        bytes = 0
      }
      part += name
      bytes += more
    }
    (parts += part).result()
  }

  /** A position; `None` for everything that the protocol does not allow. */
  def read(json: JsonNode): Option[Position] = json.properties.asScala.toSeq match {
    case Seq(only) =>
      val inner = only.getValue
      only.getKey match {
        case "kafka" => topics(inner).map(Position.Kafka)
        case "files" => files(inner).map(Position.Files)
        case "number" => whole(inner, Long.MinValue).map(Position.Number)
        case "sink" => whole(inner.path("batch")).map(Position.SinkBatch)
        case "delta" =>
          val id = inner.path("id")
          whole(inner.path("version")).filter(_ => isText(id)).map(Position.Delta(id.asText, _))
        case _ => None
      }
    case _ => None
  }

  /** A position as text, always the same for the same position. */
  def write(position: Position): String = {
    val json = JsonNodeFactory.instance.objectNode
    position match {
      case Position.Kafka(offsets) =>
        val topics = json.putObject(position.kind)
        for ((topic, partitions) <- offsets.toSeq.sortBy(_._1)) put(topics.putObject(topic), partitions)
      case Position.Files(names) =>
        val array = json.putArray(position.kind)
        names.toSeq.sorted.foreach(array.add)
      case Position.Number(value) => json.put(position.kind, value)
      case Position.SinkBatch(batch) => json.putObject(position.kind).put("batch", batch)
      case Position.Delta(table, version) => json.putObject(position.kind).put("id", table).put("version", version)
    }
    json.toString
  }

  /** A whole number within 64 bits. */
  private[noted] def whole(json: JsonNode, least: Long = 0): Option[Long] =
    Option.when(json.isIntegralNumber && json.canConvertToLong)(json.longValue).filter(_ >= least)

  /** Whether it is text that is not empty. Half of a surrogate pair is text in JSON, but not in UTF-8. */
  private[noted] def isText(json: JsonNode): Boolean =
    json.isTextual && json.textValue.nonEmpty && isText(json.textValue)

  private def isText(text: String): Boolean = text.nonEmpty && StandardCharsets.UTF_8.newEncoder.canEncode(text)

  private def put(topic: ObjectNode, offsets: Map[Int, Long]): Unit =
    for ((partition, offset) <- offsets.toSeq.sorted) topic.put(partition.toString, offset)

  private def topics(json: JsonNode): Option[Map[String, Map[Int, Long]]] = {
    val topics = json.properties.asScala.toSeq
    val isSmall = topics.iterator.map(_.getValue.size.toLong).sum <= MostEntries
    Option.when(json.isObject && isSmall && topics.forall(topic => isText(topic.getKey)))(topics).flatMap(all =>
      whereAll(all)(topic => partitions(topic.getValue).map(topic.getKey -> _)).map(_.toMap))
  }

  private def partitions(json: JsonNode): Option[Map[Int, Long]] =
    Option.when(json.isObject)(json.properties.asScala.toSeq).flatMap(all =>
      whereAll(all)(entry =>
        for { number <- partition(entry.getKey); offset <- whole(entry.getValue) } yield number -> offset).map(_.toMap))

  /** The number of a partition, which has one spelling. */
  private def partition(name: String): Option[Int] =
    name.toIntOption.filter(number => number >= 0 && number.toString == name)

  private def files(json: JsonNode): Option[Set[String]] =
    Option.when(json.isArray && json.size <= MostEntries)(json.elements.asScala.toSeq)
      .filter(_.forall(isText)).map(_.map(_.asText).toSet)

  private def whereAll[A, B](all: Seq[A])(read: A => Option[B]): Option[Seq[B]] = {
    val found = all.map(read)
    Option.when(found.forall(_.isDefined))(found.flatten)
  }
}
