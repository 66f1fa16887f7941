package org.apache.spark.sql.tidemark.noted

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import io.tidemark.{NotedTimeErrors, TidemarkException}

import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.read.streaming.{MicroBatchStream, SupportsAdmissionControl}
import org.apache.spark.sql.execution.datasources.DataSource
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Spark's own Kafka source, outside of any query. No class of the connector is named, so it is needed only where Kafka is
  * used, and its settings mean what they mean for a query.
  */
private[tidemark] object KafkaSource {

  type Stream = MicroBatchStream with SupportsAdmissionControl

  /** @throws TidemarkException if Spark has no Kafka connector */
  def require(session: SparkSession, location: String): Unit =
    try { provider(session); () }
    catch { case NonFatal(e) => throw new TidemarkException(NotedTimeErrors.NoKafkaConnector(location), e) }

  /** @param topics names with commas between
    * @param options those of the source
    */
  def open(session: SparkSession, topics: String, options: Map[String, String]): Stream = {
    val all = asOptions(options + ("subscribe" -> topics))
    val scan = table(session, all).asInstanceOf[SupportsRead].newScanBuilder(all).build()
    // It keeps nothing in this folder until it is asked for its first offsets.
    scan.toMicroBatchStream("unused").asInstanceOf[Stream]
  }

  /** The connector's table, which is read and written. */
  private[noted] def table(session: SparkSession, options: CaseInsensitiveStringMap): Table = {
    val found = provider(session)
    found.getTable(found.inferSchema(options), Array.empty[Transform], options.asCaseSensitiveMap)
  }

  private[noted] def asOptions(options: Map[String, String]): CaseInsensitiveStringMap =
    new CaseInsensitiveStringMap(options.asJava)

  private def provider(session: SparkSession): TableProvider =
    DataSource.lookupDataSource("kafka", session.sessionState.conf)
      .getConstructor().newInstance().asInstanceOf[TableProvider]
}
