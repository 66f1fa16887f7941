package io.tidemark.vectors

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode

/** One vector of the conformance file: what is done to a unit, and what it gives out.
  *
  * Fields are taken by name, and fields that no runner has asked for are an error in the end: a vector that says more
  * than its runner understands must not pass.
  */
final class Vector(json: JsonNode) {
  private val fields = new Fields(json)

  val id: String = fields.text("id")
  Seq("name", "note", "note2", "note3", "since").foreach(fields.ignore)

  def number(field: String, default: Long): Long = fields.optional(field).fold(default)(_.asLong)
  def optional(field: String): Option[JsonNode] = fields.optional(field)
  def list(field: String): Seq[JsonNode] = fields.list(field)
  def ignore(field: String): Unit = fields.ignore(field)
  def steps: Seq[JsonNode] = fields.list("steps")
  def requireNothingElse(): Unit = fields.requireNothingElse(s"vector $id")
}

/** The fields of one JSON object, and which of them were read. */
final class Fields(json: JsonNode) {
  private val read = scala.collection.mutable.HashSet.empty[String]

  def ignore(field: String): Unit = { read += field; () }

  def optional(field: String): Option[JsonNode] = {
    read += field
    Option(json.get(field))
  }

  def apply(field: String): JsonNode = optional(field).getOrElse(throw new Unknown(s"no field '$field' in $json"))
  def text(field: String): String = apply(field).asText
  def long(field: String): Long = apply(field).asLong
  def int(field: String): Int = apply(field).asInt
  def list(field: String): Seq[JsonNode] = optional(field).toSeq.flatMap(_.elements.asScala)

  def requireNothingElse(where: String): Unit = {
    val more = json.fieldNames.asScala.filterNot(read).toSeq
    if (more.nonEmpty) throw new Unknown(s"$where has fields that are not known: ${more.mkString(", ")}")
  }
}

/** The file says something that the runner does not understand. */
final class Unknown(what: String) extends RuntimeException(what)

/** What a vector expects, and what came. */
final case class Mismatch(where: String, expected: String, actual: String)

object Mismatch {

  /** Compares the outputs of a step, in their order. */
  def of(where: String, expected: Seq[JsonNode], actual: Seq[String]): Option[Mismatch] =
    of(where, expected.map(Out.text), actual)

  def of(where: String, expected: Iterable[String], actual: Iterable[String])(implicit
      d: DummyImplicit): Option[Mismatch] =
    if (expected.toSeq == actual.toSeq) None
    else Some(Mismatch(where, expected.mkString("[", ", ", "]"), actual.mkString("[", ", ", "]")))
}

/** Outputs as the file writes them. */
object Out {
  val Idle = "\"IDLE\""
  val Active = "\"ACTIVE\""
  def text(node: JsonNode): String = node.toString
  def wm(value: Long): String = value.toString
  def keyed(key: Long, value: Long): String = s"[$key,$value]"
  def error(what: String): String = s"""{"err":"$what"}"""
}
