package org.apache.spark.sql.tidemark.support

import io.tidemark.AsyncOptions
import io.tidemark.functions.mapAsync
import io.tidemark.oracle.Carrier
import io.tidemark.oracle.Carrier._

import org.apache.spark.sql.{classic, Column, DataFrame, Row}
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder
import org.apache.spark.sql.functions._
import org.apache.spark.sql.types.{StringType, StructType}

/** The ways in which columns get from one operator to the next, each as people write it.
  *
  * @param name what a view or a column of its own may be called, and what begins like it
  */
private[tidemark] final class SparkCarriers(session: classic.SparkSession, name: String) {

  /** The same rows, in columns of the same names. */
  def apply(carrier: Carrier, df: DataFrame): DataFrame = carrier match {
    case Renamed => restored(renamed(renamed(df)))
    case Dotted =>
      val dotted = df.columns.toSeq.map(column => col(s"$name.$column").as(s"$column.$name.x"))
      val named = df.as(name).select(dotted: _*)
      named.select(df.columns.toSeq.map(column => col(s"`$column.$name.x`").as(column)): _*)
    case Starred => df.select("*").as(name).select(s"$name.*")
    case View => session.sql(s"SELECT ${df.columns.mkString(", ")} FROM (SELECT * FROM ${view(df)}) AS q")
    case Table => session.sql(s"WITH e AS (SELECT *, rand() AS chance FROM ${view(df)}) SELECT * FROM e").drop("chance")
    case Struct => df.select(struct(all(df): _*).as(name)).select(s"$name.*")
    case StructAcross =>
      val stays = udf(() => true).asNondeterministic()
      df.select(struct(all(df): _*).as(name)).where(stays()).select(s"$name.*")
    case Exploded => opened(df.select(explode(array(struct(all(df): _*))).as(name)), df)
    case Transformed =>
      val items = transform(array(lit(0)), item => struct(all(df) :+ item.as(s"${name}_item"): _*))
      opened(df.select(explode(items).as(name)), df)
    case Inlined => df.select(inline(array(struct(all(df): _*))))
    case PandasMap => restored(PythonMaps.pandas(df, later(df.schema)))
    case ArrowMap => restored(PythonMaps.arrow(df, later(df.schema)))
    case RowMap =>
      val mapped = df.map((row: Row) => row)(ExpressionEncoder(df.schema))
      df.schema.foldLeft(mapped)((all, field) => all.withMetadata(field.name, field.metadata))
    case Called => called(df, AsyncOptions(concurrency = 3))
    case CalledUnordered => called(df, AsyncOptions(concurrency = 3, ordered = false))
    case CalledByKey => called(df, AsyncOptions(concurrency = 3, key = Some(col(df.columns.head))))
  }

  /** A row stays only if its result is its own. */
  private def called(df: DataFrame, options: AsyncOptions): DataFrame = {
    val texts = all(df).map(column => coalesce(column.cast("string"), lit("-")))
    val text = concat_ws(" ", texts: _*)
    mapAsync(df, s"${name}_call", Seq(text), StringType, options)(row => AsyncCalls.later(row.getString(0)))
      .where(col(s"${name}_call") === text)
      .drop(s"${name}_call")
  }

  private def all(df: DataFrame): Seq[Column] = df.columns.toSeq.map(col)

  private def opened(structs: DataFrame, df: DataFrame): DataFrame =
    structs.select(df.columns.toSeq.map(column => col(s"$name.$column")): _*)

  private def view(df: DataFrame): String = {
    df.createOrReplaceTempView(name)
    name
  }

  private def renamed(df: DataFrame): DataFrame =
    df.columns.foldLeft(df)((all, column) => all.withColumnRenamed(column, s"${name}_$column"))

  private def later(schema: StructType): StructType =
    StructType(schema.map(field => field.copy(name = s"${name}_${field.name}")))

  private def restored(df: DataFrame): DataFrame = {
    def first(column: String) = column.replace(s"${name}_", "")
    df.select(df.columns.toSeq.map(column => col(column).as(first(column))): _*)
  }
}
