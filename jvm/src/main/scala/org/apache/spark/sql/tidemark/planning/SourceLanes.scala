package org.apache.spark.sql.tidemark.planning

import io.tidemark.core.ColumnId
import io.tidemark.core.plan.OrderStep.Source

import org.apache.spark.sql.execution.{FileSourceScanExec, LocalTableScanExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.FilePartition
import org.apache.spark.sql.execution.datasources.v2.MicroBatchScanExec
import org.apache.spark.sql.tidemark.columns.KafkaOffsets
import org.apache.spark.util.Utils

/** Which rows of a source have an order of the source's own in a batch, and whether a single task reads them. */
private[planning] object SourceLanes {
  private val OneLane = Some(Set.empty[ColumnId])
  private val CutPartition =
    "several tasks read one partition, because of an option such as minPartitions or maxRecordsPerPartition"

  /** @param id of what the tasks read */
  def of(leaf: SparkPlan, id: Int): Source = leaf match {
    case scan: MicroBatchScanExec if KafkaOffsets.isKafka(scan.stream) => ofKafka(scan, id)
    case scan: MicroBatchScanExec =>
      val tasks = scan.inputPartitions.size
      Source("source", id, OneLane.filter(_ => tasks < 2), s"$tasks tasks read it side by side", cut = None)
    case scan: FileSourceScanExec => ofFiles(scan, id)
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
    val isCut = scan.inputPartitions.size > KafkaOffsets.partitionsRead(scan.start, scan.end)
    Source(
      "Kafka",
      id,
      if (partitions.size < 2) OneLane else named,
      s"its ${partitions.size} partitions have no order among each other",
      Option.when(isCut)(CutPartition))
  }

  /** Spark packs files into tasks by their sizes. */
  private def ofFiles(scan: FileSourceScanExec, id: Int): Source = {
    val count = scan.relation.location.inputFiles.length
    Source(
      "files",
      id,
      OneLane.filter(_ => count < 2),
      s"the $count files of a batch have no order among each other",
      Option.when(count == 1)(scan).flatMap(cutFile))
  }

  /** Why several tasks read the only file, if they do. */
  private def cutFile(scan: FileSourceScanExec): Option[String] = {
    val format = scan.relation.fileFormat
    val listed = scan.relation.location.listFiles(Nil, Nil)
    val most = FilePartition.maxSplitBytes(scan.relation.sparkSession, listed)
    listed.flatMap(_.files).find { file =>
      file.getLen > most && format.isSplitable(scan.relation.sparkSession, scan.relation.options, file.getPath)
    }.map { file =>
      val (size, part) = (Utils.bytesToString(file.getLen), Utils.bytesToString(most))
      s"several tasks read a file of $size, which Spark splits after $part"
    }
  }
}
