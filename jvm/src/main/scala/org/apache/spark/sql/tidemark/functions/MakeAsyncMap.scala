package org.apache.spark.sql.tidemark.functions

import java.util.UUID

import scala.concurrent.Future

import io.tidemark.{AsyncErrors, AsyncOptions, TidemarkError, TidemarkException}

import org.apache.spark.sql.{Column, DataFrame, Row}
import org.apache.spark.sql.catalyst.expressions.AttributeReference
import org.apache.spark.sql.classic.{Dataset, SparkSession}
import org.apache.spark.sql.tidemark.columns.{AsyncClient, AsyncMap, AsyncRules}
import org.apache.spark.sql.types.DataType

/** Makes an [[AsyncMap]] of what a user has given. */
object MakeAsyncMap {

  def apply[C](
      df: DataFrame,
      column: String,
      inputs: Seq[Column],
      returns: DataType,
      options: AsyncOptions,
      timeoutMillis: Option[Long],
      backoffMillis: Long,
      open: () => C,
      call: (C, Row) => Future[Any]): DataFrame = {
    if (inputs.isEmpty) refuse("inputs", "", "one column or more")
    if (options.concurrency < 1) refuse("concurrency", options.concurrency.toString, "1 or more")
    if (options.retries < 0) refuse("retries", options.retries.toString, "0 or more")
    val rules = AsyncRules(
      inputs.map(_.toString),
      options.concurrency,
      timeoutMillis,
      options.retries,
      backoffMillis,
      options.failsQuery,
      options.ordered,
      options.skipsNulls,
      origin = UUID.randomUUID().toString)
    df.sparkSession match {
      case session: SparkSession =>
        if (df.columns.exists(session.sessionState.conf.resolver(_, column)))
          refuse("column", column, "a name that no column of the DataFrame has yet")
        val child = df.asInstanceOf[Dataset[Row]].logicalPlan
        val node = AsyncMap(
          inputs.map(session.expression),
          options.key.map(session.expression),
          AttributeReference(column, returns)(),
          () => clientOf(open(), call),
          rules,
          child)
        Dataset.ofRows(session, node)
      case _ => throw new TidemarkException(AsyncErrors.AsyncOnConnect())
    }
  }

  private def clientOf[C](client: C, call: (C, Row) => Future[Any]): AsyncClient =
    AsyncClient(
      call(client, _),
      () =>
        client match {
          case closeable: AutoCloseable => closeable.close()
          case _ =>
        })

  private def refuse(option: String, value: String, allowed: String): Unit =
    throw new TidemarkException(TidemarkError.InvalidOption(option, value, Seq(allowed)))
}
