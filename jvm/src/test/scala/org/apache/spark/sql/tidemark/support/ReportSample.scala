package org.apache.spark.sql.tidemark.support

import org.apache.spark.sql.tidemark.report.Json
import org.apache.spark.sql.tidemark.view.ReportHtml

/** Reports of any size for tests of drawings, as `tidemark_report` would return them.
  *
  * @param keys the inputs, which a union reads; the last one stands still from the middle of the run on
  * @param points how many batches the history has; `None` for a report without one
  * @param splits how many splits each input has
  * @param operators how many aggregations are between the union and the sink
  * @param name how a text is changed that comes from users or their data
  */
final case class ReportSample(
    keys: Int = 2,
    points: Option[Int] = Some(20),
    splits: Int = 0,
    operators: Int = 1,
    name: String => String = identity) {
  import Json.{list, obj}
  import ReportSample._

  private val batches = points.getOrElse(20)
  private def key(at: Int): String = name(s"input $at")

  // The history and the operators are about the same rows.
  private def lateRows(batch: Int): Int = if (batch % 7 == 3) batch else 0
  private def lateRows: Int = (0 until batches).map(lateRows(_)).sum
  private def stateRows(batch: Int): Int = 100 * (batch % 30)

  private def watermark(input: Int, point: Int): Long =
    Begin + Minute * (if (input == keys - 1) math.min(point, batches / 2) else point) - 10 * Minute

  private def now(input: Int): Long = watermark(input, math.max(0, batches - 1))

  private def origin(input: Int): AnyRef = {
    val fields = Seq[(String, Any)](
      "key" -> key(input),
      "column" -> name("time"),
      "delay_ms" -> 10 * Minute,
      "watermark_ms" -> now(input),
      "max_event_time_ms" -> (now(input) + 10 * Minute))
    obj(fields ++ (if (splits > 0) ofSplits else Nil): _*)
  }

  private def ofSplits: Seq[(String, Any)] = Seq(
    "split_by" -> list(Seq(name("device"))),
    "splits" -> obj(
      "total" -> splits,
      "active" -> splits,
      "furthest" -> list((0 until math.min(splits, 50)).map { at =>
        obj(
          "name" -> name(s"split $at"),
          "behind_ms" -> (150 - 3 * at) * Minute,
          "last_active_ms" -> Begin,
          "state" -> "active")
      })))

  private def leaf(input: Int): AnyRef = obj(
    "operator" -> "withWatermark",
    "key" -> key(input),
    "columns" -> list(Seq(column(now(input)))),
    "children" -> list(Nil))

  private def column(out: Long): AnyRef =
    obj("name" -> name("time"), "in_ms" -> null, "out_ms" -> out, "held_by" -> key(keys - 1))

  private def plan: AnyRef = {
    val least = now(keys - 1)
    val union = obj(
      "operator" -> "union",
      "columns" -> list(Seq(column(least))),
      "children" -> list((0 until keys).map(leaf)))
    (0 until operators).foldLeft(union) { (below, id) =>
      obj(
        "operator" -> "aggregation",
        "columns" -> list(Seq(column(least))),
        "id" -> (operators - 1 - id),
        "late_rows" -> (if (id == 0) lateRows else 0),
        "state_rows" -> (if (id == 0) stateRows(batches - 1) else 0),
        "late_ms" -> least,
        "eviction_ms" -> least,
        "held_by" -> key(keys - 1),
        "late" -> (if (id == 0) obj("rows" -> lateRows, "most_ms" -> 3 * 60 * Minute) else null),
        "children" -> list(Seq(below)))
    }
  }

  private def history(size: Int): AnyRef = {
    def column(number: Int => Any) = list((0 until size).map(number(_).asInstanceOf[AnyRef]))
    obj(
      "batches" -> size,
      "batch" -> column(identity),
      "time_ms" -> column(Begin + _ * Minute),
      "late_rows" -> column(lateRows(_)),
      "state_rows" -> column(stateRows(_)),
      "inputs" -> list((0 until math.min(keys, 32)).map { input =>
        obj(
          "key" -> key(input),
          "watermark_ms" -> column(at => if (at == 0) null else watermark(input, at)),
          "max_event_time_ms" -> column(at => watermark(input, at) + 10 * Minute))
      }),
      "inputs_left_out" -> math.max(0, keys - 32))
  }

  def json: String = Json.text(obj(Seq[(String, Any)](
    "query" -> obj("id" -> "5f1c", "runId" -> "a2b0", "name" -> name("hourly")),
    "zone" -> "UTC",
    "why" -> obj(
      "code" -> "HELD_BY_INPUT",
      "sentence" -> s"Nothing comes out: aggregation #0 waits for ${key(keys - 1)}.",
      "fix" -> s"setting idle_after on ${key(keys - 1)}, if it may be silent",
      "held_by" -> key(keys - 1),
      "is_trouble" -> true),
    "engine" -> "tidemark",
    "batch" -> batches,
    "inputs" -> list((0 until keys).map(origin)),
    "hints" -> list(Seq(obj("code" -> "A_HINT", "message" -> name("a hint")))),
    "plan" -> plan) ++ points.map("history" -> history(_)): _*))
}

object ReportSample {
  private val Minute = 60000L

  // 2024-03-01T12:00:00Z
  private val Begin = 1709294400000L

  /** The picture in the guide on notebooks: a run of an hour, in which one of two inputs falls silent. */
  def picture: String = ReportHtml.svg(ReportSample(points = Some(60)).json) + "\n"
}
