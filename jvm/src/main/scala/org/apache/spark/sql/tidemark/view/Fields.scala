package org.apache.spark.sql.tidemark.view

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.core.{JsonFactoryBuilder, JsonProcessingException, StreamReadConstraints}
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import com.fasterxml.jackson.databind.node.{MissingNode, ObjectNode}

/** An object of a report. What is absent, or of another kind than expected, counts as nothing: a user may pass a report. */
private[view] final class Fields(node: JsonNode) {
  def has(name: String): Boolean = node.hasNonNull(name)

  def text(name: String): Option[String] =
    Option(node.get(name)).filter(_.isValueNode).filterNot(_.isNull).map(_.asText)

  def long(name: String): Option[Long] = Option(node.get(name)).flatMap(Fields.number)

  def double(name: String): Option[Double] = Option(node.get(name)).filter(_.isNumber).map(_.asDouble)

  /** A number of things, which is 0 if it is not said. */
  def count(name: String): Long = long(name).getOrElse(0L)

  /** The fields that are numbers, by name. */
  def counts: Seq[(String, Long)] =
    node.properties.asScala.toSeq.flatMap(field => Fields.number(field.getValue).map(field.getKey -> _))

  def flag(name: String): Boolean = Option(node.get(name)).exists(_.asBoolean)

  def at(name: String): Fields = new Fields(node.path(name))

  def list(name: String): IndexedSeq[Fields] = elements(name).map(new Fields(_))

  def longs(name: String): IndexedSeq[Option[Long]] = elements(name).map(Fields.number)

  def texts(name: String): IndexedSeq[String] = elements(name).filter(_.isTextual).map(_.asText)

  private def elements(name: String): IndexedSeq[JsonNode] = node.path(name) match {
    case array if array.isArray => array.elements.asScala.toIndexedSeq
    case _ => IndexedSeq.empty
  }
}

private[view] object Fields {

  /** An object that has nothing. */
  val none: Fields = new Fields(MissingNode.getInstance)

  // Each operator is nested in the one that reads it.
  private val MostNested = 10000
  private val mapper = {
    val limits = StreamReadConstraints.builder.maxNestingDepth(MostNested).build
    new ObjectMapper((new JsonFactoryBuilder).streamReadConstraints(limits).build)
  }

  /** @throws java.lang.IllegalArgumentException if the text is not a JSON object */
  def read(json: String): Fields = new Fields(parsed(json))

  /** A report with what is made of it: `text` and `html`, and `watermark` as text in each input. */
  def rendered(json: String)(
      text: Fields => String,
      html: Fields => String,
      watermark: Fields => Fields => String): String = {
    val node = parsed(json)
    val report = new Fields(node)
    val (inText, inHtml, ofInput) = (text(report), html(report), watermark(report))
    node.path("inputs").elements.asScala.foreach {
      case input: ObjectNode => input.put("watermark", ofInput(new Fields(input)))
      case _ =>
    }
    mapper.writeValueAsString(node.put("text", inText).put("html", inHtml))
  }

  private def parsed(json: String): ObjectNode = {
    val node =
      try Option(mapper.readTree(json)).getOrElse(MissingNode.getInstance)
      catch { case e: JsonProcessingException => throw new IllegalArgumentException(e.getOriginalMessage, e) }
    node match {
      case report: ObjectNode => report
      case _ => throw new IllegalArgumentException("it is not a JSON object")
    }
  }

  private def number(node: JsonNode): Option[Long] = Option.when(node.isNumber && node.canConvertToLong)(node.asLong)
}
