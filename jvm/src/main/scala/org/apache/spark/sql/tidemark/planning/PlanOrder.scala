package org.apache.spark.sql.tidemark.planning

import scala.collection.mutable

import io.tidemark.core.ColumnId
import io.tidemark.core.plan.{Order, OrderFlow, OrderStep, OrderTerm}

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.BuildRight
import org.apache.spark.sql.catalyst.plans.physical.{HashPartitioning, Partitioning, RangePartitioning, SinglePartition}
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.datasources.v2.MicroBatchScanExec
import org.apache.spark.sql.execution.exchange.{ReusedExchangeExec, ShuffleExchangeExec}
import org.apache.spark.sql.execution.joins.BroadcastHashJoinExec
import org.apache.spark.sql.execution.python.{EvalPythonExec, MapInBatchExec}
import org.apache.spark.sql.execution.streaming.operators.stateful._
import org.apache.spark.sql.execution.streaming.operators.stateful.join.StreamingSymmetricHashJoinExec
import org.apache.spark.sql.tidemark.exec.calls.AsyncMapExec
import org.apache.spark.sql.tidemark.exec.order.{HoldExec, InOrderExec, ReadOrder}

/** In which order the rows of a physical plan are, shuffles and sorts included. It translates for [[OrderFlow]], which
  * decides. One instance is for one plan.
  */
private[planning] final class PlanOrder {
  import PlanOrder._

  private val shapes = mutable.ArrayBuffer.empty[SortOrder]
  private val sources = mutable.HashMap.empty[Any, Int]

  /** The order of a node's output. */
  def of(plan: SparkPlan): Order = OrderFlow.after(step(plan), inputs(plan).map(of))

  /** What an operator gets from its input. */
  def at(keys: Seq[Attribute], input: SparkPlan): OrderFlow.Found = OrderFlow.at(keys.map(id).toSet, of(input))

  /** What to sort by, for the columns of a plan. */
  def sortBy(terms: Seq[OrderTerm], plan: SparkPlan): Seq[SortOrder] = {
    val columns = plan.output.map(column => id(column) -> column).toMap
    terms.map { term =>
      shapes(term.shape).transform { case at: BoundReference => columns(term.columns(at.ordinal)) }
        .asInstanceOf[SortOrder]
    }
  }

  def step(plan: SparkPlan): OrderStep = plan match {
    case order: InOrderExec =>
      val late =
        ChooseLateRowRule.path(order.child).collectFirst { case hold: HoldExec => hold }.filterNot(_.order.dropsLate)
      val terms = order.namedWithinGroups.map { case (name, sort) => term(name, sort) }
      OrderStep.InOrder(
        "in order",
        terms,
        order.by.map(id).toSet,
        order.isGathered,
        passesLate = order.isGathered && late.nonEmpty)
    case shuffle: ShuffleExchangeExec => ofShuffle(shuffle.outputPartitioning)
    case calls: AsyncMapExec if !calls.rules.ordered => OrderStep.Shuffle("asynchronous calls", None)
    case coalesce: CoalesceExec => OrderStep.Coalesce(coalesce.nodeName)
    case sort: SortExec => ofSort(sort)
    case union: UnionExec =>
      OrderStep.Union(
        "union",
        union.children.map(child => child.output.map(id).zip(union.output.map(id)).reverse.toMap))
    case project: ProjectExec =>
      val names = project.projectList.collect {
        case alias @ Alias(column: Attribute, _) => id(column) -> id(alias.toAttribute)
      } ++ project.projectList.collect { case column: Attribute => id(column) -> id(column) }
      OrderStep.Keeps("projection", names.toMap)
    case expand: ExpandExec =>
      // A column that some of a row's copies lack is not the row's.
      val same = expand.output.zip(expand.projections.transpose).collect {
        case (to, (from: Attribute) +: rest) if rest.forall(from.semanticEquals) => id(from) -> id(to)
      }
      OrderStep.Keeps(expand.nodeName, same.toMap)
    case join: BroadcastHashJoinExec => kept(join, inputs(join).head)
    case operator if OrderSensitive.keysOfFirst(operator).nonEmpty => kept(operator, operator.children.head)
    case join: StreamingSymmetricHashJoinExec => OrderStep.Breaks("join", "it emits matches as it finds them")
    case writer: StateStoreWriter =>
      OrderStep.Breaks(StatefulShapes.label(writer), "it emits rows in an order of its own")
    case _: BaseAggregateExec => OrderStep.Breaks("aggregation", "it emits groups in any order")
    case node if keepsRows(node) => kept(node, node.children.head)
    case _: ReusedExchangeExec => unknown(plan)
    case leaf: LeafExecNode => SourceLanes.of(leaf, sourceOf(leaf))
    case other => unknown(other)
  }

  private def inputs(plan: SparkPlan): Seq[SparkPlan] = plan match {
    case join: BroadcastHashJoinExec => Seq(if (join.buildSide == BuildRight) join.left else join.right)
    case OrderSensitive(_) => plan.children.take(1)
    case other => other.children
  }

  private def kept(plan: SparkPlan, input: SparkPlan): OrderStep = {
    val out = plan.output.map(id).toSet
    OrderStep.Keeps(plan.nodeName, input.output.map(id).filter(out).map(column => column -> column).toMap)
  }

  private def ofShuffle(partitioning: Partitioning): OrderStep = partitioning match {
    case hash: HashPartitioning =>
      val by = if (hash.expressions.exists(_.references.nonEmpty)) s" by ${inWords(hash.expressions)}" else ""
      OrderStep.Shuffle(s"shuffle$by", Some(references(hash.expressions)))
    case range: RangePartitioning =>
      val by = range.ordering.map(_.child)
      OrderStep.Shuffle(s"shuffle by ranges of ${inWords(by)}", Some(references(by)))
    case SinglePartition => OrderStep.Shuffle("shuffle into one partition", Some(Set.empty))
    case _ => OrderStep.Shuffle("repartition", None)
  }

  private def ofSort(sort: SortExec): OrderStep = {
    val isStable = ReadOrder.isStable(sort)
    val by = if (isStable) sort.sortOrder.init else sort.sortOrder
    OrderStep.Sort(
      s"sort by ${inWords(by.map(_.child))}",
      by.map(order => term(inWords(Seq(order.child)), order)),
      isStable)
  }

  private def term(name: String, sort: SortOrder): OrderTerm = {
    val columns = sort.collect { case column: Attribute => column }.distinctBy(_.exprId)
    val shape = sort.transform { case column: Attribute =>
      BoundReference(columns.indexWhere(_.exprId == column.exprId), column.dataType, nullable = true)
    }.asInstanceOf[SortOrder]
    val known = shapes.indexWhere(_.semanticEquals(shape))
    if (known < 0) shapes += shape
    OrderTerm(name, if (known < 0) shapes.size - 1 else known, columns.map(id))
  }

  /** Two nodes with the same number may read the same rows. */
  private def sourceOf(leaf: SparkPlan): Int = {
    val read: Any = leaf match {
      case scan: MicroBatchScanExec => scan.stream
      case files: FileSourceScanExec => files.relation.location.rootPaths
      // An input that has no rows in this batch.
      case rows: LocalTableScanExec => rows
      case _ => "unknown"
    }
    sources.getOrElseUpdate(read, sources.size)
  }

  private def unknown(plan: SparkPlan): OrderStep =
    OrderStep.Breaks(plan.nodeName, "the order in which it emits rows is not known")
}

private[planning] object PlanOrder {
  private def id(column: Attribute): ColumnId = ColumnId(column.exprId.id)

  private def references(all: Seq[Expression]): Set[ColumnId] = all.flatMap(_.references).map(id).toSet

  private def inWords(all: Seq[Expression]): String = all.map(InOrderExec.inWords).mkString(", ")

  /** Whether a node makes of each row none, one or several, and takes the rows of a partition one after the other. A function
    * of the user's is trusted to do so.
    */
  private def keepsRows(plan: SparkPlan): Boolean = plan match {
    case _: FilterExec | _: SampleExec | _: GenerateExec | _: CollectMetricsExec => true
    case _: DeserializeToObjectExec | _: SerializeFromObjectExec | _: AppendColumnsExec => true
    case _: AppendColumnsWithObjectExec | _: MapElementsExec | _: MapPartitionsExec => true
    case _: EvalPythonExec | _: MapInBatchExec => true
    case _: EventTimeWatermarkExec | _: UpdateEventTimeColumnExec => true
    case _: WholeStageCodegenExec | _: InputAdapter | _: ColumnarToRowExec | _: RowToColumnarExec => true
    case _: StateStoreWriter => false
    // Those of Tidemark.
    case node: UnaryExecNode => node.getClass.getName.startsWith("org.apache.spark.sql.tidemark.exec.")
    case _ => false
  }
}
