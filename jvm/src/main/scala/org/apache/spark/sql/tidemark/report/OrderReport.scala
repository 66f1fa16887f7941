package org.apache.spark.sql.tidemark.report

import io.tidemark.core.{EventTimeUnits, OperatorId, OriginName}
import io.tidemark.core.plan.Order

import org.apache.spark.sql.tidemark.planning.OperatorOrder
import org.apache.spark.sql.tidemark.status.QueryView

/** What a report shows of the order of rows: in which an operator reads them, and which rows wait to be in it. */
private[report] object OrderReport {
  import Json.{list, obj}

  /** Empty if the operator's result does not depend on the order. */
  def order(operator: OperatorId, query: QueryView.Planned): Seq[(String, Any)] =
    query.orders.get(operator).toSeq.flatMap(order)

  def order(found: OperatorOrder): Seq[(String, Any)] = {
    val fields = found.order match {
      case time: Order.Time =>
        Seq("kind" -> "time", "columns" -> list(time.names.distinct), "over_batches" -> time.isOverBatches)
      case _: Order.Arrival => Seq("kind" -> "arrival", "columns" -> list(Nil))
      case _: Order.Lost => Seq("kind" -> "none", "columns" -> list(Nil))
    }
    val lost = Seq("lost_at" -> found.lost.map(_.at).orNull, "why" -> found.lost.map(_.why).orNull)
    Seq("order" -> obj(fields ++ Seq("of_groups" -> found.isOfGroups) ++ lost: _*))
  }

  /** Of an operator in which rows wait, after a batch of this run: also the watermarks that let the first and the last of
    * them go.
    * @param by the origin whose watermark the rows wait for
    * @param splits the split that holds an origin's watermark back
    */
  def held(
      operator: OperatorId,
      query: QueryView.Planned,
      by: Option[OriginName],
      splits: Map[OriginName, String]): Seq[(String, Any)] =
    query.known.held.get(operator).toSeq.map { held =>
      "held" -> obj(
        "rows" -> held.rows,
        "bytes" -> held.bytes,
        "oldest_ms" -> held.micros.map(times => Long.box(EventTimeUnits.millis(times._1))).orNull,
        "next_due_ms" -> held.micros.map(times => Long.box(EventTimeUnits.millisFrom(times._1))).orNull,
        "last_due_ms" -> held.micros.map(times => Long.box(EventTimeUnits.millisFrom(times._2))).orNull,
        "waits_for" -> by.map(_.toString).orNull,
        "split" -> by.flatMap(splits.get).orNull)
    }
}
