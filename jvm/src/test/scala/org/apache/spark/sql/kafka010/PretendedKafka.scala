package org.apache.spark.sql.kafka010

import java.util

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.connector.catalog.{SupportsWrite, Table, TableCapability}
import org.apache.spark.sql.connector.write.{
  LogicalWriteInfo,
  PhysicalWriteInfo,
  Write,
  WriteBuilder,
  WriterCommitMessage
}
import org.apache.spark.sql.connector.write.streaming.{StreamingDataWriterFactory, StreamingWrite}
import org.apache.spark.sql.internal.connector.SimpleTableProvider
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** A sink that looks like Kafka's from outside: the connector is recognized by the package of its classes. It cannot write. */
class PretendedKafka extends SimpleTableProvider {
  override def getTable(options: CaseInsensitiveStringMap): Table = PretendedKafka.Sink
}

object PretendedKafka {
  private object Sink extends Table with SupportsWrite {
    override def name(): String = "pretended"
    override def schema(): StructType = new StructType()
    override def capabilities(): util.Set[TableCapability] =
      Set(TableCapability.STREAMING_WRITE, TableCapability.ACCEPT_ANY_SCHEMA).asJava
    override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder = new WriteBuilder {
      override def build(): Write = new Write {
        override def toStreaming: StreamingWrite = Nowhere
      }
    }
  }

  private object Nowhere extends StreamingWrite {
    override def createStreamingWriterFactory(info: PhysicalWriteInfo): StreamingDataWriterFactory =
      throw new UnsupportedOperationException("pretended")
    override def commit(epochId: Long, messages: Array[WriterCommitMessage]): Unit = ()
    override def abort(epochId: Long, messages: Array[WriterCommitMessage]): Unit = ()
  }
}
