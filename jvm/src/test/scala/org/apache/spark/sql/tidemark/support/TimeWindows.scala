package org.apache.spark.sql.tidemark.support

import scala.jdk.CollectionConverters._

import io.tidemark.core.noted._

import com.fasterxml.jackson.databind.JsonNode

import org.apache.spark.sql.tidemark.noted.PositionText

/** Time windows of positions, by the core's rules and with the fields of the conformance vectors. */
object TimeWindows {

  /** What a reader of a mark log waits for, as a vector says it. */
  final case class Reader(
      expected: Seq[String],
      onlyExpected: Boolean,
      idleAfterMillis: Option[Long],
      maxAheadMillis: Option[Long]) {

    def isWanted(writer: String): Boolean = !onlyExpected || expected.contains(writer)

    /** The time window of a position: the rules of a reader that keeps no state. */
    def window(
        histories: Map[String, WriterHistory],
        read: SourcePosition,
        nowMillis: Long,
        isAtEnd: Boolean): (Option[Long], Option[Long]) = {
      val noted = NotedWriters(histories, Map.empty, read, maxAheadMillis.map(nowMillis + _))
      val lastActive = noted.writers.values.filter(_.timeMillis.isDefined).map(_.state.lastActiveMillis)
      val isOut = noted.writers.map { case (writer, progress) =>
        val isStalled = idleAfterMillis.exists { after =>
          lastActive.maxOption.exists(latest => math.min(latest, nowMillis) - progress.state.lastActiveMillis >= after)
        }
        val isAwake = progress.state.hasPending && !isAtEnd
        writer -> (progress.state.isResting || isStalled && !isAwake)
      }
      val waiting = noted.writers.filterNot { case (writer, _) => isOut(writer) }
      val lowers = waiting.values.flatMap(_.timeMillis)
      if (expected.exists(!noted.writers.contains(_))) (None, None)
      else if (waiting.isEmpty) (noted.writers.values.flatMap(_.timeMillis).maxOption, None)
      else (Option.when(lowers.size == waiting.size)(lowers.min), noted.upperMillis(isOut))
    }
  }

  object Reader {
    def apply(fields: JsonNode): Reader = Reader(
      fields.path("expected").elements.asScala.map(_.asText).toSeq,
      fields.path("only_expected").asBoolean,
      millis(fields, "idle_after"),
      millis(fields, "max_ahead"))
  }

  def millis(fields: JsonNode, name: String): Option[Long] =
    Option(fields.get(name)).filterNot(_.isNull).map(_.asLong)

  def position(read: JsonNode, isAtEnd: Boolean): SourcePosition = PositionText.read(read).get match {
    case Position.Kafka(offsets) => SourcePosition.Kafka(offsets)
    case Position.Delta(table, version) => SourcePosition.Delta(table, Some(version))
    case Position.Files(names) => files(names, isAtEnd)
    case Position.SinkBatch(batch) => new SourcePosition.Files(_ => false, _ <= batch)
    case Position.Number(value) => SourcePosition.Number(value)
  }

  /** @param isAtEnd whether no file is left to read */
  def files(read: Set[String], isAtEnd: Boolean): SourcePosition =
    new SourcePosition.Files(read, _ => false) {
      override def isDrained: Boolean = isAtEnd
    }
}
