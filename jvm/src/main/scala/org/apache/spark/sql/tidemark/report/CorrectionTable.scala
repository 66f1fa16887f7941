package org.apache.spark.sql.tidemark.report

import scala.util.Try

import io.tidemark.{TidemarkError, TidemarkException}

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, Cast, Expression, UnsafeProjection}
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LogicalPlan, Statistics}
import org.apache.spark.sql.catalyst.types.DataTypeUtils.toAttributes
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.{LeafExecNode, SparkPlan, SparkStrategy}
import org.apache.spark.sql.tidemark.session.SqlFunctions
import org.apache.spark.sql.types.{LongType, StringType, StructType, TimestampType}

/** `tidemark_correct(checkpoint, key[, split[, to]])` takes the clocks and the watermark of an input back to a time, and
  * `tidemark_forget(checkpoint, key, split)` retires a split. The query must be stopped.
  *
  * The checkpoint is changed when the rows of the table are read. Explaining the plan changes nothing.
  */
object CorrectionTable {

  val correct: SqlFunctions.TableDescription = {
    val expected =
      "the location of a checkpoint, a key, and if wanted the name of a split and an event time, as constants,"
    described(
      "tidemark_correct",
      "(checkpoint, key[, split[, to]]) - takes an input's clocks back to a time",
      expected) {
      case Seq(Text(location), Text(key)) => (location, Corrector.Correct(key, None, None))
      case Seq(Text(location), Text(key), TextOrNull(split)) => (location, Corrector.Correct(key, split, None))
      case Seq(Text(location), Text(key), TextOrNull(split), TimeOrNull(to)) =>
        (location, Corrector.Correct(key, split, to))
    }
  }

  val forget: SqlFunctions.TableDescription = {
    val expected = "the location of a checkpoint, a key and the name of a split, as constant texts,"
    described("tidemark_forget", "(checkpoint, key, split) - retires a split that will not return", expected) {
      case Seq(Text(location), Text(key), Text(split)) => (location, Corrector.Forget(key, split))
    }
  }

  val schema: StructType = new StructType()
    .add("batch", LongType, nullable = false)
    .add("key", StringType, nullable = false)
    .add("before", StringType)
    .add("watermark", StringType)
    .add("kept", StringType)
    .add("follows", StringType, nullable = false)

  private def described(name: String, usage: String, expected: String)(
      asked: PartialFunction[Seq[Expression], (String, Corrector.Asked)]): SqlFunctions.TableDescription =
    SqlFunctions.described(getClass, name, usage) { arguments =>
      val (location, change) = asked.lift(arguments).getOrElse(
        throw new TidemarkException(TidemarkError.WrongArguments(name, expected, arguments.size)))
      CorrectionOnce(location, change, toAttributes(schema)): LogicalPlan
    }

  private object Text {
    def unapply(argument: Expression): Option[String] = SqlFunctions.constantText(argument)
  }

  private object TextOrNull {
    def unapply(argument: Expression): Option[Option[String]] =
      if (isNull(argument)) Some(None) else SqlFunctions.constantText(argument).map(Some(_))
  }

  private object TimeOrNull {
    def unapply(argument: Expression): Option[Option[Long]] =
      if (isNull(argument)) Some(None) else micros(argument).map(Some(_))
  }

  private def isNull(argument: Expression) = argument.foldable && Try(argument.eval() == null).getOrElse(false)

  private def micros(argument: Expression): Option[Long] = {
    val zone = SparkSession.active.sessionState.conf.sessionLocalTimeZone
    if (!argument.foldable) None
    else Try(Cast(argument, TimestampType, Some(zone)).eval()).toOption.collect { case micros: Long => micros }
  }
}

/** A change of a checkpoint. */
private[report] final case class CorrectionOnce(location: String, change: Corrector.Asked, output: Seq[Attribute])
    extends LeafNode {
  override def computeStats(): Statistics = Statistics(sizeInBytes = 1024)
  override def maxRows: Option[Long] = Some(1)
}

/** The change, which is made once for each execution of the plan, on the driver. */
private[report] final case class CorrectionExec(location: String, change: Corrector.Asked, output: Seq[Attribute])
    extends LeafExecNode {

  private lazy val rows: Array[InternalRow] = {
    val row = new Corrector(SparkSession.active, location, change).run()
    Array(UnsafeProjection.create(output, output)(row).copy())
  }

  override def executeCollect(): Array[InternalRow] = rows
  override protected def doExecute(): RDD[InternalRow] = sparkContext.parallelize(rows.toSeq, 1)
}

object CorrectionStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case CorrectionOnce(location, change, output) => CorrectionExec(location, change, output) :: Nil
    case _ => Nil
  }
}
