package org.apache.spark.sql.tidemark.columns

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

/** The options of a function, which a user gives as a JSON object. A field that is null counts as left out.
  *
  * @param invalid the error for options that cannot be used, by a reason that follows the function's name
  */
private[columns] final class JsonOptions private (fields: JsonNode, invalid: String => Throwable) {

  def field(name: String): Option[JsonNode] = Option(fields.get(name)).filterNot(_.isNull)

  def text(name: String): Option[String] = field(name).map { value =>
    if (value.isTextual) value.asText else throw invalid(s"has the option '$name', which is not text")
  }

  def flag(name: String): Option[Boolean] = field(name).map { value =>
    if (value.isBoolean) value.asBoolean else throw invalid(s"has the option '$name', which is neither true nor false")
  }

  /** An object of texts; empty if it is left out. */
  def texts(name: String): Map[String, String] = field(name).fold(Map.empty[String, String]) { fields =>
    if (fields.isObject && fields.properties.asScala.forall(_.getValue.isTextual))
      fields.properties.asScala.map(entry => entry.getKey -> entry.getValue.asText).toMap
    else throw invalid(s"has the option '$name', which is not an object of texts")
  }
}

private[columns] object JsonOptions {
  private val mapper = new ObjectMapper

  /** @param known the names that a field may have */
  def read(json: String, known: Set[String])(invalid: String => Throwable): JsonOptions = {
    val fields =
      try mapper.readTree(json)
      catch {
        case NonFatal(e) => throw invalid(s"has options that are not JSON (${e.getMessage.linesIterator.next()})")
      }
    if (!fields.isObject) throw invalid("has options that are not a JSON object")
    fields.fieldNames().asScala.find(!known(_)).foreach(name => throw invalid(s"has an unknown option '$name'"))
    new JsonOptions(fields, invalid)
  }
}
