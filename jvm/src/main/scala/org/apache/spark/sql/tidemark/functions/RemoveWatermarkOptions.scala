package org.apache.spark.sql.tidemark.functions

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, ExprId}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.catalyst.trees.TreePattern.EVENT_TIME_WATERMARK
import org.apache.spark.sql.tidemark.columns.EventTimeOptions

/** The options of a watermark end with it: they come from the plan that it is in, and go on into nothing else.
  *
  * They travel in the metadata of its column ([[EventTimeOptions]]), and metadata is written into the schema of a table.
  * So options that the column of a table has are those of another query, and are not this one's; and a projection above
  * the watermark takes its own out of what is written. The optimizer removes it.
  */
object RemoveWatermarkOptions extends Rule[LogicalPlan] {
  private val TakenOut = TreeNodeTag[Unit]("tidemark.optionsTakenOut")

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!plan.containsPattern(EVENT_TIME_WATERMARK)) plan
    else
      plan.resolveOperatorsUp {
        case origin: EventTimeWatermark if origin.resolved && isOfOtherQuery(origin, plan) =>
          val named = origin.eventTime
          origin.copy(eventTime = named.withMetadata(EventTimeOptions.removed(named.metadata)))
        case origin: EventTimeWatermark
            if origin.resolved && origin.getTagValue(TakenOut).isEmpty && origin.output.exists(hasOptions) =>
          origin.setTagValue(TakenOut, ())
          Project(origin.output.map(a => a.withMetadata(EventTimeOptions.removed(a.metadata))), origin)
      }

  private def hasOptions(column: Attribute): Boolean = EventTimeOptions.areIn(column.metadata)

  private def isOfOtherQuery(origin: EventTimeWatermark, whole: LogicalPlan): Boolean =
    hasOptions(origin.eventTime) && !isGiven(origin.eventTime.exprId, origin.child, whole)

  /** Whether a projection of the plan gives the column its options, and not what the plan reads from. */
  private def isGiven(column: ExprId, in: LogicalPlan, whole: LogicalPlan): Boolean =
    in.collectFirst(Function.unlift(givenBy(column, _, whole))).getOrElse(false)

  /** What a node says of it: `None` where the column does not begin there. */
  private def givenBy(column: ExprId, node: LogicalPlan, whole: LogicalPlan): Option[Boolean] = node match {
    case project: Project =>
      project.projectList.collectFirst {
        case alias: Alias if alias.exprId == column =>
          alias.child match {
            case from: Attribute if alias.explicitMetadata.isEmpty => isGiven(from.exprId, project.child, whole)
            case _ => alias.explicitMetadata.exists(EventTimeOptions.areIn)
          }
      }
    case reference: CTERelationRef =>
      for {
        position <- Some(reference.output.indexWhere(_.exprId == column)).filter(_ >= 0)
        definition <- whole.collectFirst { case d: CTERelationDef if d.id == reference.cteId => d }
      } yield isGiven(definition.output(position).exprId, definition, whole)
    case _ => None
  }
}
