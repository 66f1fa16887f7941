package org.apache.spark.sql.tidemark.functions

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, ExprId}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.catalyst.trees.TreePattern.EVENT_TIME_WATERMARK
import org.apache.spark.sql.tidemark.columns.EventTimeOptions

/** Limits the options of a watermark to that watermark: they come from its own plan, and are written nowhere.
  *
  * Options travel in the metadata of the column ([[EventTimeOptions]]), and Spark writes metadata into the schema of a
  * table. Options in a table's schema therefore belong to another query, and are removed. A projection above the
  * watermark removes its own options from what is written; the optimizer removes that projection.
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

  /** Whether a projection of this plan gave the column its options, rather than the schema of a source. */
  private def isGiven(column: ExprId, in: LogicalPlan, whole: LogicalPlan): Boolean =
    in.collectFirst(Function.unlift(givenBy(column, _, whole))).getOrElse(false)

  /** Whether a projection gives options to a column that has none below it ([[ResolveEventTimes]]). */
  private def gives(column: Attribute, project: Project): Boolean =
    hasOptions(column) && !project.child.output.exists(a => a.exprId == column.exprId && hasOptions(a))

  /** The answer of one node; `None` if the column does not originate there. */
  private def givenBy(column: ExprId, node: LogicalPlan, whole: LogicalPlan): Option[Boolean] = node match {
    case project: Project =>
      project.projectList.collectFirst {
        case attribute: Attribute if attribute.exprId == column && gives(attribute, project) => true
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
