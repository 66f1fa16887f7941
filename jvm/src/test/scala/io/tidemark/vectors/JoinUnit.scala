package io.tidemark.vectors

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import io.tidemark.core.{ColumnId, Input, OperatorId, OriginName, Side, Watermark}
import io.tidemark.core.plan.{AttributedWatermark, Decision, OperatorWatermarks, PlanShape, Propagation}

import com.fasterxml.jackson.databind.JsonNode

/** The watermarks of a join, through the bounds of its sides. Rows and buffers are not looked at.
  *
  * The file's joins have several time columns on a side, each with bounds of its own; here a side is bounded by one. So
  * every pair of a column and a bound is a join of its own, and the furthest of a column's bounds counts. A row is late
  * there when it is ''before'' a watermark, here when it is not after it: one millisecond lies between the two.
  */
object JoinUnit {
  private val Offset = 1L

  def run(vector: Vector): Seq[Mismatch] = {
    val left = keys(vector.optional("left_keys"))
    val right = keys(vector.optional("right_keys"))
    val postpone = vector.optional("postpone").toSeq.flatMap(_.properties.asScala).flatMap { from =>
      from.getValue.properties.asScala.map(to => Postpone(from.getKey.toLong, to.getKey.toLong, to.getValue.asLong))
    }
    Seq("join", "condition", "extra", "right_columns").foreach(vector.ignore)
    val steps = vector.steps
    vector.requireNothingElse()
    val join = new Join(left, right, postpone)
    steps.zipWithIndex.flatMap { case (json, index) =>
      val fields = new Fields(json)
      val op = fields.text("op")
      val where = s"${vector.id} step $index ($op)"
      Seq("side", "cols", "buffer", "buffer_left", "buffer_right").foreach(fields.ignore)
      val out = fields.list("out").filter(_.path(0).asText == "wm").map(Out.text).sorted
      val mismatches = op match {
        case "row" => Mismatch.of(where, out, Seq.empty[String]).toSeq
        case "wm" => Mismatch.of(where, out, join.observe(fields.long("key"), fields.long("ts")).sorted).toSeq
        case "state" =>
          fields.optional("limit").toSeq.flatMap(_.properties.asScala).filterNot(_.getValue.isNull).flatMap { limit =>
            val actual = join.limit(limit.getKey.toLong).fold("none")(_.toString)
            Mismatch.of(s"$where, limit of ${limit.getKey}", Seq(Out.text(limit.getValue)), Seq(actual))
          }
        case other => throw new Unknown(s"operation '$other'")
      }
      fields.requireNothingElse(where)
      mismatches
    }
  }

  /** A row's column `to` may leave when it is more than `by` before the watermark of `from`. */
  private final case class Postpone(from: Long, to: Long, by: Long)

  private def keys(json: Option[JsonNode]): Set[Long] = json.toSeq.flatMap(_.fieldNames.asScala).map(_.toLong).toSet

  private final class Join(left: Set[Long], right: Set[Long], postpone: Seq[Postpone]) {
    private val received = mutable.HashMap.empty[Long, Long]
    private val emitted = mutable.HashMap.empty[Long, Long]

    def observe(key: Long, time: Long): Seq[String] = {
      received(key) = time
      (left ++ right).toSeq.flatMap { column =>
        val out = furthest(postpone.filter(_.to == column).flatMap(levels(_).root.out.columns.get(ColumnId(column))))
        out.filter(at => emitted.get(column).forall(at > _)).map { at =>
          emitted(column) = at
          s"""["wm",$column,$at]"""
        }
      }
    }

    /** How far the state that holds a column is closed. */
    def limit(column: Long): Option[Long] =
      furthest(postpone.filter(_.to == column).flatMap(p => levels(p).inputs(Input(Operator, sideOf(column))).evicted))

    private def furthest(all: Seq[AttributedWatermark]): Option[Long] =
      all.flatMap(_.watermark.millis).maxOption.map(_ + Offset)

    private def levels(bound: Postpone): OperatorWatermarks = {
      val origins = (left ++ right).map(key => key -> OriginName(key.toString, 0)).toMap
      val decision = Decision.none.copy(origins = received.map { case (key, time) =>
        origins(key) -> (Watermark.At(time - Offset): Watermark)
      }.toMap)
      val bounded = sideOf(bound.to)
      def side(at: Side, active: Long): PlanShape.JoinSide = PlanShape.JoinSide(
        PlanShape.Origin("input", origins(active), ColumnId(active), PlanShape.Source("rows")),
        Some(ColumnId(active)),
        Option.when(at == bounded)(PlanShape.Bound(sideOf(bound.from), ColumnId(bound.from), -bound.by)),
        PlanShape.ActiveOut.Bounded,
        Nil,
        comesOut = at == bounded)
      val of = Map(bounded -> bound.to, sideOf(bound.from) -> bound.from)
      Propagation.levels(
        PlanShape.Join("join", Operator, side(Side.Left, of(Side.Left)), side(Side.Right, of(Side.Right))),
        decision)
    }

    private def sideOf(column: Long): Side = if (left(column)) Side.Left else Side.Right
  }

  private val Operator = OperatorId(0L)
}
