package org.apache.spark.sql.tidemark.planning

import scala.util.Try

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.{ExpandExec, SparkPlan, UnionExec}
import org.apache.spark.sql.types.{LongType, TimestampType}

/** When windows end, computed from the expressions of Spark's `window(...)` column. Times are µs since the epoch. */
private[tidemark] object WindowEnds {

  /** The first end of a window after that time; `None` if the column is no such window, or if its expressions are not
    * in the plan.
    */
  def next(plan: SparkPlan, column: Expression, afterMicros: Long): Option[Long] = column match {
    case window: Attribute =>
      val ends = made(plan, window.exprId).map(end(_, afterMicros))
      // A time is in several sliding windows.
      if (ends.isEmpty || ends.exists(_.isEmpty)) None else ends.flatten.filter(_ > afterMicros).minOption
    case _ => None
  }

  private def made(plan: SparkPlan, id: ExprId): Seq[Expression] = plan.collect { case node => node }.flatMap {
    case union: UnionExec if union.output.exists(_.exprId == id) =>
      val at = union.output.indexWhere(_.exprId == id)
      union.children.flatMap(input => made(input, input.output(at).exprId))
    case expand: ExpandExec if expand.output.exists(_.exprId == id) =>
      val at = expand.output.indexWhere(_.exprId == id)
      expand.projections.map(_(at)).filterNot(_.isInstanceOf[Attribute])
    case node => node.expressions.collect { case made: Alias if made.exprId == id => made.child }
  }.distinct

  private def end(made: Expression, timeMicros: Long): Option[Long] = {
    val ends = made.collect { case window: CreateNamedStruct => window }.headOption.flatMap { window =>
      window.dataType.fieldNames.zip(window.valExprs).collectFirst { case ("end", end) => end }
    }
    val atThatTime = ends.map(_.transform {
      case PreciseTimestampConversion(_, TimestampType, LongType) => Literal(timeMicros, LongType)
    })
    atThatTime.filter(end => end.references.isEmpty && end.deterministic)
      .flatMap(end => Try(end.eval()).toOption)
      .collect { case micros: Long => micros }
  }
}
