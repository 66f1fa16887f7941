package org.apache.spark.sql.tidemark.support

import java.util.{EnumSet, Map => JMap, Set => JSet}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.read.streaming._
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** A table in memory that is read as a stream. `spark.readStream.format` is given the class of a provider of it.
  *
  * @param columns as DDL
  */
abstract class MicroBatchTable(override val name: String, columns: String) extends Table with SupportsRead {
  val struct: StructType = StructType.fromDDL(columns)

  protected def stream(options: CaseInsensitiveStringMap): MicroBatchStream

  override def schema: StructType = struct
  override def capabilities: JSet[TableCapability] = EnumSet.of(TableCapability.MICRO_BATCH_READ)
  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = () =>
    new Scan {
      override def readSchema: StructType = struct
      override def toMicroBatchStream(checkpoint: String): MicroBatchStream = stream(options)
    }
}

abstract class MicroBatchProvider(table: MicroBatchTable) extends TableProvider {
  override def inferSchema(options: CaseInsensitiveStringMap): StructType = table.struct
  override def getTable(schema: StructType, by: Array[Transform], properties: JMap[String, String]): Table = table
}

/** The rows that a task reads. */
final case class RowsInMemory(rows: Seq[InternalRow]) extends InputPartition

object RowsInMemory extends PartitionReaderFactory {
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = {
    val rows = partition.asInstanceOf[RowsInMemory].rows.iterator
    new PartitionReader[InternalRow] {
      override def next(): Boolean = rows.hasNext
      override def get(): InternalRow = rows.next()
      override def close(): Unit = ()
    }
  }
}
