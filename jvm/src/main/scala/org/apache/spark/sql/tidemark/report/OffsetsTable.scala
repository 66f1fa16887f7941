package org.apache.spark.sql.tidemark.report

import scala.util.Try

import io.tidemark.{TidemarkError, TidemarkException}

import org.apache.spark.sql.catalyst.expressions.{Cast, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan}
import org.apache.spark.sql.catalyst.types.DataTypeUtils.toAttributes
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.tidemark.session.SqlFunctions
import org.apache.spark.sql.types.{ArrayType, LongType, StringType, StructType, TimestampType}

/** `tidemark_offsets(checkpoint, time[, edge[, key]])`: how far a query had read its sources when its watermark had reached
  * a time (`complete`), or when it had read no later row (`before`). The query is not started, and nothing is written. The
  * function runs on the driver and reads a few entries.
  */
object OffsetsTable {
  private val name = "tidemark_offsets"

  val description: SqlFunctions.TableDescription = SqlFunctions.described(
    getClass,
    name,
    "(checkpoint, time[, edge[, key]]) - how far a streaming query had read its sources at an event time")(table)

  val schema: StructType = new StructType()
    .add("batch", LongType, nullable = false)
    .add("source", StringType, nullable = false)
    .add("kind", StringType, nullable = false)
    .add("offset", StringType, nullable = false)
    .add("starting", StringType)
    .add("ending", StringType)
    .add("files", ArrayType(StringType, containsNull = false))

  private def table(arguments: Seq[Expression]): LogicalPlan = {
    val session = SparkSession.active
    val zone = session.sessionState.conf.sessionLocalTimeZone
    val asked = for {
      Seq(location, time) <- Some(arguments.take(2)) if arguments.size <= 4 && arguments.forall(_.foldable)
      checkpoint <- SqlFunctions.constantText(location)
      micros <- Try(Cast(time, TimestampType, Some(zone)).eval()).toOption.collect { case micros: Long => micros }
      edge <- arguments.lift(2).map(SqlFunctions.constantText).getOrElse(Some("complete"))
      if CutReader.edges.contains(edge)
      key = arguments.lift(3).flatMap(SqlFunctions.constantText)
    } yield new CutReader(session, checkpoint, CutReader.Asked(micros, edge, key))
    val reader = asked.getOrElse {
      val expected =
        "the location of a checkpoint, an event time, and if wanted 'complete' or 'before' and a key, as constants,"
      throw new TidemarkException(TidemarkError.WrongArguments(name, expected, arguments.size))
    }
    LocalRelation(toAttributes(schema), reader.rows())
  }
}
