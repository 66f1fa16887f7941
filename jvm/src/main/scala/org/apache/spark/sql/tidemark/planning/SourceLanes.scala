package org.apache.spark.sql.tidemark.planning

import io.tidemark.core.ColumnId
import io.tidemark.core.plan.OrderStep.Source

import org.apache.spark.sql.execution.{LocalTableScanExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.v2.MicroBatchScanExec
import org.apache.spark.sql.tidemark.columns.KafkaOffsets

/** Which rows of a source have an order of the source's own in a batch. */
private[planning] object SourceLanes {
  private val OneLane = Some(Set.empty[ColumnId])

  /** @param id of what the tasks read */
  def of(leaf: SparkPlan, id: Int): Source = leaf match {
    case scan: MicroBatchScanExec if KafkaOffsets.isKafka(scan.stream) => ofKafka(scan, id)
    case scan: MicroBatchScanExec =>
      val tasks = scan.inputPartitions.size
      Source("source", id, OneLane.filter(_ => tasks < 2), s"$tasks tasks read it side by side", cut = None)
    // An input that has no rows in this batch.
    case rows: LocalTableScanExec if rows.rows.isEmpty => Source("source", id, OneLane, "", cut = None)
    case other => Source(other.nodeName, id, lane = None, "it is not known how many tasks read it", cut = None)
  }

  /** All partitions count, also those without rows in this batch: the next one may have rows of them. */
  private def ofKafka(scan: MicroBatchScanExec, id: Int): Source = {
    val partitions = KafkaOffsets.offsetsOf(scan.end).keySet
    val names = if (partitions.map(_.topic).size < 2) Seq("partition") else Seq("topic", "partition")
    val columns = scan.output.filter(column => names.contains(column.name)).map(column => ColumnId(column.exprId.id))
    val named = Some(columns.toSet).filter(_.size == names.size)
    Source(
      "Kafka",
      id,
      if (partitions.size < 2) OneLane else named,
      s"its ${partitions.size} partitions have no order among each other",
      cut = None)
  }
}
