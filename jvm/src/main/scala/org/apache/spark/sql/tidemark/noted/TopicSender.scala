package org.apache.spark.sql.tidemark.noted

import java.io.IOException

import scala.util.Using
import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.catalog.SupportsWrite
import org.apache.spark.sql.connector.write.{DataWriterFactory, LogicalWriteInfoImpl, PhysicalWriteInfoImpl}
import org.apache.spark.sql.types.{BinaryType, StructType}
import org.apache.spark.util.Utils

/** Writes to a topic. */
private[tidemark] trait TopicSender {

  /** Writes values in order. The brokers have acknowledged them when the call returns.
    * @throws java.io.IOException if one of them may not have been written
    */
  def send(key: Array[Byte], values: Seq[Array[Byte]]): Unit
}

/** Spark's own Kafka sink, outside of any query. As for [[KafkaSource]], no class of the connector is named. */
private[noted] object KafkaSink {
  private val schema = new StructType().add("key", BinaryType).add("value", BinaryType)

  /** @param options those of the sink */
  def open(session: SparkSession, topic: String, options: Map[String, String]): TopicSender = {
    val all = KafkaSource.asOptions(options + ("topic" -> topic))
    val table = KafkaSource.table(session, all).asInstanceOf[SupportsWrite]
    val write = table.newWriteBuilder(LogicalWriteInfoImpl("tidemark-marks", schema, all)).build().toBatch
    new ByFactory(topic, write.createBatchWriterFactory(PhysicalWriteInfoImpl(1)))
  }

  private final class ByFactory(topic: String, factory: DataWriterFactory) extends TopicSender {
    // The connector finds its own classes by this. It may not be the loader of the thread that writes.
    private val loader = Thread.currentThread.getContextClassLoader

    override def send(key: Array[Byte], values: Seq[Array[Byte]]): Unit =
      try
        Utils.withContextClassLoader(loader) {
          // The connector keeps the producer for a while, so a writer for each call costs little.
          Using.resource(factory.createWriter(0, 0)) { writer =>
            values.foreach(value => writer.write(InternalRow(key, value)))
            // It waits for acknowledgements here.
            writer.commit()
          }
          ()
        }
      catch { case NonFatal(e) => throw new IOException(s"topic $topic could not be written", e) }
  }
}
