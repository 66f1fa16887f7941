package org.apache.spark.sql.tidemark.functions

import java.util.UUID

import io.tidemark.{TidemarkError, TidemarkException}

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{EventTimeWatermark, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.EVENT_TIME_WATERMARK
import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.tidemark.columns.{BinaryKey, EventTimeMarks, EventTimeOptions, SplitMarker, SplitText}
import org.apache.spark.sql.types._

/** Replaces `tidemark_event_time` by the plain column with the options in its metadata. If the input is split, a
  * [[SplitMarker]] goes below.
  *
  * The column keeps its id, as with `withWatermark`, so that references to it and aliases of the DataFrame still work.
  * It gets another one if it is computed or renamed there, or if the projection has the column a second time.
  */
object ResolveEventTimes extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = withOptions(plan.resolveOperatorsUpWithNewOutput {
    case project: Project
        if project.childrenResolved && project.projectList.exists(isEventTime) &&
          project.projectList.forall(_.resolved) =>
      val resolved = resolve(project)
      resolved -> project.output.zip(resolved.output)
  })

  private def resolve(project: Project): Project =
    project.projectList.foldLeft(project.copy(projectList = Nil)) {
      case (below, alias @ EventTime(time)) =>
        val Marked(child, column, splitBy, expected) = split(below.child, time, alias.name)
        val before = EventTimeOptions.removed(column.metadata)
        // A batch query has no watermark, and the options would only end up in what the query writes.
        val metadata =
          if (child.isStreaming) EventTimeOptions.write(before, time.options, splitBy, expected) else before
        if (keepsId(alias, project))
          Project(below.projectList :+ column.withMetadata(metadata), withoutOptions(column, child))
        else
          Project(below.projectList :+ Alias(column, alias.name)(alias.exprId, alias.qualifier, Some(metadata)), child)
      case (below, other) => Project(below.projectList :+ other, below.child)
    }

  private def split(child: LogicalPlan, time: EventTimeExpression, name: String): Marked = {
    time.splits.foreach(requireComparable(name, _))
    val hidden = HiddenColumns.of(time.time +: time.splits.map(BinaryKey.of), name, child)
    val (column, keys) = (hidden.columns.head, hidden.columns.tail)
    val options = EventTimeOptions.parse(time.options)
    // With a mark log, the names are those of its writers.
    val expected = if (options.noted.isEmpty) options.expected.map(names(_, time.splits)) else options.expected
    // Only streams have clocks. Tidemark may be enabled when the query is defined or only when it starts.
    if (keys.isEmpty || !child.isStreaming)
      Marked(hidden.below, column, None, expected)
    else {
      val id = UUID.randomUUID()
      val splitBy = SplitMarker(id, name, column, keys, time.splits.map(_.sql), hidden.below)
      Marked(splitBy, column, Some(id), expected)
    }
  }

  private val EventTime = new WholeColumn[EventTimeExpression]

  /** @param below the plan that the column is taken from, with the node that splits the input
    * @param expected the names of the expected splits
    */
  private final case class Marked(
      below: LogicalPlan,
      column: Attribute,
      split: Option[UUID],
      expected: Seq[Seq[Option[String]]])

  private def requireComparable(column: String, by: Expression): Unit = {
    if (!RowOrdering.isOrderable(by.dataType))
      throw new TidemarkException(TidemarkError.SplitNotOrderable(column, by.sql, by.dataType.simpleString))
    BinaryKey.changingCollation(by.dataType).foreach { collation =>
      throw new TidemarkException(TidemarkError.SplitCollation(column, by.sql, collation))
    }
  }

  /** The name of an expected split. A split that can have no row is refused: the watermark would wait for it forever. */
  private def names(split: Seq[Option[String]], by: Seq[Expression]): Seq[Option[String]] = {
    if (split.size != by.size)
      throw new TidemarkException(TidemarkError.ExpectedSplitWidth(split.size, by.size))
    split.zip(by).map { case (value, key) =>
      val declared = declaredType(key)
      value.map { text =>
        SplitText.expected(text, key.dataType, declared).getOrElse(throw new TidemarkException(
          TidemarkError.ExpectedSplitType(text, key.sql, declared.getOrElse(key.dataType).simpleString)))
      }
    }
  }

  /** The type of a column or field in its table, if that is CHAR or VARCHAR: elsewhere they are STRING for Spark. */
  private def declaredType(by: Expression): Option[DataType] = raw(by).filter {
    case _: CharType | _: VarcharType => true
    case _ => false
  }

  private def raw(by: Expression): Option[DataType] = by match {
    case column: Attribute => CharVarcharUtils.getRawType(column.metadata).orElse(Some(column.dataType))
    case field: GetStructField =>
      raw(field.child).collect { case struct: StructType => struct(field.ordinal).dataType }
    case _ => None
  }

  private def isEventTime(column: NamedExpression): Boolean = EventTime.unapply(column).nonEmpty

  /** Whether the column may be the one below: nothing else in the projection has that id. */
  private def keepsId(alias: NamedExpression, project: Project): Boolean = source(alias) match {
    case Some(column) => column.name == alias.name &&
      project.projectList.flatMap(source(_)).count(_.exprId == column.exprId) == 1
    case None => false
  }

  /** The column that an element of a projection is, if that is not computed. */
  private def source(element: NamedExpression): Option[Attribute] = element match {
    case column: Attribute => Some(column)
    case EventTime(EventTimeExpression(Seq(column: Attribute, _*))) => Some(column)
    case _ => None
  }

  /** The plan without options that the column has from elsewhere, so that a projection above it is seen to give them. */
  private def withoutOptions(column: Attribute, plan: LogicalPlan): LogicalPlan =
    if (!EventTimeOptions.areIn(column.metadata)) plan
    else
      Project(
        plan.output.map { a =>
          if (a.exprId == column.exprId) a.withMetadata(EventTimeOptions.removed(a.metadata)) else a
        },
        plan)

  /** Watermarks that Spark has resolved before their column got its options, as it may within one query text. */
  private def withOptions(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsUpWithPruning(
    _.containsPattern(EVENT_TIME_WATERMARK)) {
    case origin: EventTimeWatermark if origin.resolved && !EventTimeOptions.areIn(origin.eventTime.metadata) =>
      val marked = origin.child.output.find(a => a.exprId == origin.eventTime.exprId && !EventTimeMarks.isMarked(a))
      marked.filter(a => EventTimeOptions.areIn(a.metadata)).fold(origin) { a =>
        origin.copy(eventTime = origin.eventTime.withMetadata(a.metadata))
      }
  }
}
