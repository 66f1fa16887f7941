package org.apache.spark.sql.tidemark.functions

import java.util.UUID

import io.tidemark.{TidemarkError, TidemarkException}

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.tidemark.columns.{EventTimeOptions, SplitBy, SplitText}
import org.apache.spark.sql.tidemark.session.SessionConf

/** Replaces `tidemark_event_time` by the plain column with the options in its metadata. If the input is split, a
  * [[SplitBy]] goes below.
  */
final class ResolveEventTimes(session: SparkSession) extends Rule[LogicalPlan] {
  import ResolveEventTimes._

  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsUp {
    case project: Project if project.childrenResolved && project.projectList.exists(isEventTime) =>
      if (project.projectList.forall(_.resolved)) resolve(project) else project
  }

  private def resolve(project: Project): Project =
    project.projectList.foldLeft(project.copy(projectList = Nil)) {
      case (below, alias @ EventTime(time)) =>
        val (child, column, splitBy) = split(below.child, time, alias.name)
        // A batch query has no watermark, and the options would only end up in what the query writes.
        val metadata =
          if (child.isStreaming) EventTimeOptions.write(column.metadata, time.options, splitBy)
          else EventTimeOptions.removed(column.metadata)
        val plain = Alias(column, alias.name)(alias.exprId, alias.qualifier, Some(metadata))
        Project(below.projectList :+ plain, child)
      case (below, other) => Project(below.projectList :+ other, below.child)
    }

  /** The plan that the column is taken from, with the node that splits the input. */
  private def split(
      child: LogicalPlan,
      time: EventTimeExpression,
      name: String): (LogicalPlan, Attribute, Option[UUID]) = {
    val hidden = HiddenColumns.of(time.time +: time.splits, name, child)
    val (column, keys) = (hidden.columns.head, hidden.columns.tail)
    keys.zip(time.splits).find { case (key, _) => !RowOrdering.isOrderable(key.dataType) }.foreach { case (key, by) =>
      throw new TidemarkException(TidemarkError.SplitNotOrderable(name, by.sql, key.dataType.simpleString))
    }
    val options = EventTimeOptions.parse(time.options)
    // With a mark log, the names are those of its writers.
    if (options.noted.isEmpty) options.expected.foreach(requireValues(_, keys, time.splits))
    // Only streams have clocks, and only while Tidemark is enabled.
    if (keys.isEmpty || !child.isStreaming || !SessionConf.enabled(session.sessionState.conf))
      (hidden.below, column, None)
    else {
      val id = UUID.randomUUID()
      (SplitBy(id, name, column, keys, time.splits.map(_.sql), hidden.below), column, Some(id))
    }
  }
}

private[tidemark] object ResolveEventTimes {

  private val EventTime = new WholeColumn[EventTimeExpression]

  /** Refuses an expected split that no row can belong to: the watermark would wait for it forever. */
  private def requireValues(split: Seq[Option[String]], keys: Seq[Attribute], by: Seq[Expression]): Unit = {
    if (split.size != keys.size)
      throw new TidemarkException(TidemarkError.ExpectedSplitWidth(split.size, keys.size))
    for (((Some(text), key), index) <- split.zip(keys).zipWithIndex if !SplitText.isText(text, key.dataType))
      throw new TidemarkException(
        TidemarkError.ExpectedSplitType(text, by(index).sql, key.dataType.simpleString))
  }

  private def isEventTime(column: NamedExpression): Boolean = EventTime.unapply(column).nonEmpty
}
