package org.apache.spark.sql.tidemark.check

import io.tidemark.core.why.Trap

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.tidemark.columns.{NoteTime, OriginsOfPlan, PlanOrigin}
import org.apache.spark.sql.types.{DataType, StringType, StructType, TimestampType}
import org.apache.spark.util.Utils

/** What the inputs of a query show by themselves: where their event time comes from, and how they are set. */
private[check] object OriginTraps {

  /** @param isListening whether time passes for idle inputs: between runs it does not, unless a setting says so */
  def in(plan: LogicalPlan, origins: OriginsOfPlan, isListening: Boolean): Seq[Trap] = {
    val found = plan.collect { case node: EventTimeWatermark => node }.distinctBy(_.nodeId).flatMap { node =>
      origins.all.find(_.nodeId == node.nodeId).toSeq.flatMap(of(node, _))
    }
    found ++ endsOnly(plan) ++ origins.all.filter(_.rules.idleAfterMillis.nonEmpty && !isListening)
      .map(origin => Trap.AvailableNowNeverListens(origin.name.toString))
  }

  /** Windows that a query notes and writes by their end alone. */
  private def endsOnly(plan: LogicalPlan): Option[Trap] = {
    val made = plan.output.map(column => column -> madeBy(column.exprId, plan))
    def isTimeInWindow(column: Attribute, made: Option[Expression]) =
      isWindow(column.dataType) ||
        made.exists(by => column.dataType == TimestampType && by.exists(isWindowEnd) && !isWindowEnd(by))
    if (!plan.exists(_.isInstanceOf[NoteTime]) || made.exists { case (column, by) => isTimeInWindow(column, by) }) None
    else
      (for ((column, by) <- made; window <- by.flatMap(windowOf))
        yield Trap.NotedOutputEnd(column.name, textOf(window))).headOption
  }

  private def of(node: EventTimeWatermark, origin: PlanOrigin): Seq[Trap] = {
    val name = origin.name.toString
    val isGuessed = origin.rules.noted.isEmpty
    val made = madeBy(node.eventTime.exprId, node.child)
    Option.when(isGuessed && origin.rules.delayMillis == 0)(Trap.DelayZero(name)).toSeq ++
      Option.when(isGuessed && origin.rules.maxAheadMillis.isEmpty)(Trap.FarFuture(name)) ++
      markedBelow(node).map(of => Trap.WatermarkAfter(name, StateTraps.labelOf(of))) ++
      Option.when(isGuessed && origin.rules.splitBy.isEmpty && readsKafka(node.child))(Trap.KafkaOneClock(name)) ++
      made.filter(isNow).map(by => Trap.EventTimeIsNow(name, textOf(by))) ++
      made.filter(by => !isGuessed && isWindowEnd(by)).map(by => Trap.NotedWindowEnd(name, textOf(by))) ++
      made.filter(mayBeNull).map(by => Trap.EventTimeMayBeNull(name, textOf(by)))
  }

  /** The nearest operator with state below, if a watermark is below that too. */
  private def markedBelow(node: EventTimeWatermark): Option[LogicalPlan] = node.child.collectFirst {
    case stateful if StateTraps.keepsState(stateful) && stateful.exists(_.isInstanceOf[EventTimeWatermark]) => stateful
  }

  /** The expression that a column is; `None` if it comes as it is from a source, or from another kind of operator. */
  def madeBy(column: ExprId, in: LogicalPlan): Option[Expression] = in match {
    case project: Project =>
      project.projectList.find(_.exprId == column).flatMap {
        case Alias(from: Attribute, _) => madeBy(from.exprId, project.child)
        case Alias(by, _) => Some(by)
        case from => madeBy(from.exprId, project.child)
      }
    case node: UnaryNode if node.child.output.exists(_.exprId == column) => madeBy(column, node.child)
    case _ => None
  }

  /** An expression as the user would write it, without what `spark.sql.redaction.string.regex` hides. */
  def textOf(expression: Expression): String =
    Utils.redact(
      SQLConf.get.stringRedactionPattern,
      expression.transform { case a: Attribute => a.withQualifier(Nil) }.sql)

  private def isNow(made: Expression): Boolean = made match {
    case cast: Cast => isNow(cast.child)
    case _: CurrentTimestampLike | _: LocalTimestamp => true
    case _ => false
  }

  private def isWindowEnd(made: Expression): Boolean = windowOf(made).nonEmpty

  /** The window whose end an expression is. */
  private def windowOf(made: Expression): Option[Expression] = made match {
    case cast: Cast => windowOf(cast.child)
    case field @ GetStructField(of, 1, _) if field.extractFieldName == "end" && isWindow(of.dataType) => Some(of)
    case _ => None
  }

  private def isWindow(kind: DataType): Boolean = kind match {
    case window: StructType => window.fieldNames.toSeq == Seq("start", "end")
    case _ => false
  }

  /** In ANSI mode the query fails at such a row instead. */
  private def mayBeNull(made: Expression): Boolean = made match {
    case cast: Cast => cast.child.dataType == StringType && cast.evalMode != EvalMode.ANSI
    case parse: ParseToTimestamp => parse.left.dataType == StringType && !parse.failOnError
    case _ => false
  }

  /** Whether the rows come from Kafka as they are. */
  private def readsKafka(plan: LogicalPlan): Boolean = plan match {
    case source: StreamingRelationV2 => source.sourceName == "kafka"
    case _: Aggregate | _: EventTimeWatermark | _: Deduplicate | _: DeduplicateWithinWatermark => false
    case node: UnaryNode => readsKafka(node.child)
    case _ => false
  }
}
