package org.apache.spark.sql.tidemark.check

import io.tidemark.core.why.{InputTrap, Trap}

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.tidemark.columns.{NoteTime, OriginsOfPlan, PlanOrigin}
import org.apache.spark.sql.types.{DataType, StringType, StructType, TimestampType}
import org.apache.spark.util.Utils

/** What the inputs of a query show by themselves: where their event time comes from, and how they are set. */
private[check] object OriginTraps {

  /** @param countsSilence whether the time of a run may make an input idle */
  def in(plan: LogicalPlan, origins: OriginsOfPlan, countsSilence: Boolean): Seq[Trap] = {
    val found = plan.collect { case node: EventTimeWatermark => node }.distinctBy(_.nodeId).flatMap { node =>
      origins.all.find(_.nodeId == node.nodeId).toSeq.flatMap(of(node, _))
    }
    found ++ endsOnly(plan) ++ origins.all.filter(_.rules.idleAfterMillis.nonEmpty && !countsSilence)
      .map(origin => InputTrap.AvailableNowNeverListens(origin.name.toString))
  }

  /** Windows that a query notes and writes by their end alone. */
  private def endsOnly(plan: LogicalPlan): Option[Trap] = {
    val outputs = plan.output.map(column => column -> madeBy(column.exprId, plan))
    def isTimeInWindow(column: Attribute, definition: Option[Expression]) =
      isWindow(column.dataType) ||
        definition.exists(by => column.dataType == TimestampType && by.exists(isWindowEnd) && !isWindowEnd(by))
    if (!plan.exists(_.isInstanceOf[NoteTime]) || outputs.exists { case (column, by) => isTimeInWindow(column, by) })
      None
    else
      (for ((column, by) <- outputs; window <- by.flatMap(windowOf))
        yield Trap.NotedOutputEnd(column.name, textOf(window))).headOption
  }

  private def of(node: EventTimeWatermark, origin: PlanOrigin): Seq[Trap] = {
    val name = origin.name.toString
    val isGuessed = origin.rules.noted.isEmpty
    val definition = madeBy(node.eventTime.exprId, node.child)
    Option.when(isGuessed && origin.rules.delayMillis == 0)(InputTrap.DelayZero(name)).toSeq ++
      Option.when(isGuessed && origin.rules.maxAheadMillis.isEmpty)(InputTrap.FarFuture(name)) ++
      markedBelow(node).map(of => InputTrap.WatermarkAfter(name, StateTraps.labelOf(of))) ++
      Option.when(isGuessed && origin.rules.splitBy.isEmpty && readsKafka(node.child))(InputTrap.KafkaOneClock(name)) ++
      definition.filter(isNow).map(by => InputTrap.EventTimeIsNow(name, textOf(by))) ++
      definition.filter(by => !isGuessed && isWindowEnd(by)).map(by => InputTrap.NotedWindowEnd(name, textOf(by))) ++
      definition.filter(mayBeNull).map(by => InputTrap.EventTimeMayBeNull(name, textOf(by)))
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

  private def isNow(definition: Expression): Boolean = definition match {
    case cast: Cast => isNow(cast.child)
    case _: CurrentTimestampLike | _: LocalTimestamp => true
    case _ => false
  }

  private def isWindowEnd(definition: Expression): Boolean = windowOf(definition).nonEmpty

  /** The window whose end an expression is. */
  private def windowOf(definition: Expression): Option[Expression] = definition match {
    case cast: Cast => windowOf(cast.child)
    case field @ GetStructField(of, 1, _) if field.extractFieldName == "end" && isWindow(of.dataType) => Some(of)
    case _ => None
  }

  private def isWindow(kind: DataType): Boolean = kind match {
    case window: StructType => window.fieldNames.toSeq == Seq("start", "end")
    case _ => false
  }

  /** In ANSI mode the query fails at such a row instead. */
  private def mayBeNull(definition: Expression): Boolean = definition match {
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
