package org.apache.spark.sql.tidemark.noted

import java.nio.ByteBuffer
import java.nio.charset.{CharacterCodingException, StandardCharsets}
import java.util.zip.CRC32

import io.tidemark.core.noted.{Mark, MarkId, Position}

import com.fasterxml.jackson.core.{JsonFactory, JsonFactoryBuilder, JsonProcessingException, StreamReadConstraints}
import com.fasterxml.jackson.databind.{DeserializationFeature, JsonNode, ObjectMapper}
import com.fasterxml.jackson.databind.json.JsonMapper
import com.fasterxml.jackson.databind.node.JsonNodeFactory

/** One mark as a line: `crc SP json LF`. `crc` is the CRC-32 (IEEE, as in zlib) of the JSON's bytes, as 8 lower-case hex
  * digits. The page docs/noted-time/format.md describes the fields.
  */
private[tidemark] object MarkText {

  val Version = 1

  /** The longest line in bytes, without its line feed. */
  val MostLineBytes: Int = 1 << 20

  private val MostWriterBytes = 200

  /** A line has no mark that can be used. The reason is `checksum`, `json`, `version`, `writer`, or the name of the field
    * that is wrong.
    */
  final class Unusable(val reason: String) extends RuntimeException(reason, null, false, false)

  private val mapper: ObjectMapper = {
    // The names of fields come from outside: they must not fill a table of names that are kept.
    val factory = new JsonFactoryBuilder()
      .disable(JsonFactory.Feature.CANONICALIZE_FIELD_NAMES)
      .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
      .streamReadConstraints(StreamReadConstraints.builder.maxNumberLength(4300).build)
      .build
    JsonMapper.builder(factory).enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS).build
  }

  /** Reads the marks of one file, each from its line without the line feed. */
  final class Reader(file: MarkFileName) {
    private val usual = new UsualMark(file.writer, file.epoch)

    /** @throws Unusable for everything that the protocol does not allow, and for a later version */
    def mark(bytes: Array[Byte], from: Int, until: Int): Mark = {
      requireChecksum(bytes, from, until)
      usual.read(bytes, from + ChecksumBytes, until).getOrElse(anyMark(bytes, from, until))
    }

    private def anyMark(bytes: Array[Byte], from: Int, until: Int): Mark = {
      val found = MarkText.mark(fields(text(bytes, from + ChecksumBytes, until)))
      if (found.writer != file.writer || found.epoch != file.epoch) unusable("writer")
      found
    }
  }

  /** What the JSON of all marks of a life begins with. */
  def begin(writer: String, epoch: Long): Array[Byte] =
    s"""{"v":$Version,"w":${mapper.writeValueAsString(writer)},"e":$epoch,"n":""".getBytes(StandardCharsets.UTF_8)

  /** The mark of a record in Kafka, which has a checksum of its own. `None` for a claim, which is not a mark.
    * @param writer the one of the record's key
    * @throws Unusable for everything that the protocol does not allow, and for a later version
    */
  def record(value: Array[Byte], writer: String): Option[Mark] = {
    if (value.length > MostLineBytes) unusable("long")
    val json = fields(text(value, 0, value.length))
    if (isClaim(json) && json.path("e").isIntegralNumber) None
    else {
      val found = mark(json)
      if (found.writer != writer) unusable("writer")
      Some(found)
    }
  }

  private val Claim = "claim"

  private def isClaim(json: JsonNode): Boolean = json.path("k").asText == Claim

  def isWriter(name: String): Boolean =
    name.nonEmpty && name.getBytes(StandardCharsets.UTF_8).length <= MostWriterBytes

  /** The line of a mark, with its line feed. */
  def line(mark: Mark): Array[Byte] = {
    val bytes = json(mark)
    val crc = new CRC32
    crc.update(bytes)
    f"${crc.getValue}%08x ".getBytes(StandardCharsets.US_ASCII) ++ bytes :+ '\n'.toByte
  }

  /** The JSON of a mark. The order of fields is the same as that of the Python package. */
  def json(mark: Mark): Array[Byte] = {
    val json = JsonNodeFactory.instance.objectNode
      .put("v", Version).put("w", mark.writer).put("e", mark.epoch).put("n", mark.number).put("k", mark.kind.name)
    mark.timeMillis.foreach(json.put("t", _))
    json.put("at", mark.writtenMillis)
    mark.position.foreach(position => json.set[JsonNode]("p", mapper.readTree(PositionText.write(position))))
    mark.mostMillis.foreach(json.put("m", _))
    mark.after.foreach(place => json.putArray("after").add(place.epoch).add(place.number))
    mapper.writeValueAsBytes(json)
  }

  /** The JSON of a claim, by which a life takes an epoch in Kafka. It is not a mark.
    * @param id a text that no other life uses
    */
  def claim(writer: String, epoch: Long, id: String, nowMillis: Long): Array[Byte] = mapper.writeValueAsBytes(
    JsonNodeFactory.instance.objectNode
      .put("v", Version).put("w", writer).put("e", epoch).put("k", Claim).put("id", id).put("at", nowMillis))

  /** What a record takes.
    * @param claim the id of a claim; `None` for any other record
    */
  final case class Epoch(epoch: Long, claim: Option[String])

  /** The epoch that a record in Kafka takes, also one of a later version; `None` if it names none. */
  def epoch(value: Array[Byte]): Option[Epoch] =
    try {
      if (value.length > MostLineBytes) unusable("long")
      val json = fields(text(value, 0, value.length))
      PositionText.whole(json.path("e")).map(Epoch(_, Option.when(isClaim(json))(json.path("id").asText)))
    } catch { case _: Unusable => None }

  /** The last mark of a writer that was purged, from the line of its note; `None` if that cannot be used. */
  def lastPurged(bytes: Array[Byte], from: Int, until: Int, writer: String): Option[MarkId] =
    try {
      requireChecksum(bytes, from, until)
      val json = fields(text(bytes, from + ChecksumBytes, until))
      Option.when(json.path("w").asText == writer)(place(json.path("last"), "last"))
    } catch { case _: Unusable => None }

  private val ChecksumBytes = 9

  private def requireChecksum(bytes: Array[Byte], from: Int, until: Int): Unit = {
    if (until - from < ChecksumBytes) unusable("checksum")
    val crc = new CRC32
    crc.update(bytes, from + ChecksumBytes, until - from - ChecksumBytes)
    val sum = crc.getValue
    for (digit <- 0 until 8)
      if (bytes(from + digit) != Character.forDigit((sum >>> (28 - 4 * digit)).toInt & 15, 16)) unusable("checksum")
    if (bytes(from + 8) != ' ') unusable("checksum")
  }

  private def text(bytes: Array[Byte], from: Int, until: Int): String =
    try StandardCharsets.UTF_8.newDecoder.decode(ByteBuffer.wrap(bytes, from, until - from)).toString
    catch { case _: CharacterCodingException => unusable("json") }

  private def fields(text: String): JsonNode = {
    val json =
      try mapper.readTree(text)
      catch { case _: JsonProcessingException => unusable("json") }
    // JSON has no byte order mark, but Jackson may skip one.
    if (!json.isObject || text.startsWith("\ufeff")) unusable("json")
    json
  }

  /** The checks have the same order as those of the Python package, so that both name the same reason. */
  private def mark(json: JsonNode): Mark = {
    val version = whole(json, "v")
    if (version > Version) unusable("version")
    if (version != Version) unusable("v")
    val kind = Mark.kinds.find(known => json.path("k").isTextual && known.name == json.path("k").asText)
      .getOrElse(unusable("k"))
    val time = Option.when(kind != Mark.Alive && json.has("t"))(whole(json, "t", Long.MinValue))
    if (kind == Mark.Note && time.isEmpty) unusable("t")
    if (kind == Mark.Note && !json.has("p")) unusable("p")
    val writer = json.path("w").asText
    if (!PositionText.isText(json.path("w")) || writer.getBytes(StandardCharsets.UTF_8).length > MostWriterBytes)
      unusable("w")
    Mark(
      writer,
      epoch = whole(json, "e"),
      number = whole(json, "n"),
      kind,
      time,
      writtenMillis = whole(json, "at"),
      position = Option(json.get("p")).map(position),
      mostMillis = Option.when(json.has("m"))(whole(json, "m", Long.MinValue)),
      after = Option(json.get("after")).map(place(_, "after")))
  }

  private def whole(json: JsonNode, name: String, least: Long = 0): Long =
    PositionText.whole(json.path(name), least).getOrElse(unusable(name))

  private def position(json: JsonNode): Position = PositionText.read(json).getOrElse(unusable("p"))

  private def place(json: JsonNode, name: String): MarkId = {
    val numbers =
      if (json.isArray && json.size == 2) Seq(json.get(0), json.get(1)).flatMap(PositionText.whole(_)) else Nil
    numbers match {
      case Seq(epoch, number) => MarkId(epoch, number)
      case _ => unusable(name)
    }
  }

  private def unusable(reason: String): Nothing = throw new Unusable(reason)
}
