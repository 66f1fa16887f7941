package org.apache.spark.sql.tidemark.exec.order

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, SortOrder}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{ColumnarRule, SparkPlan}
import org.apache.spark.sql.tidemark.exec.PassThroughCodegen

/** Says of the order of its input what its own columns can say. It does nothing to rows.
  *
  * A projection of Spark says the order of its input also where it leaves columns of the order out. Whoever takes that order
  * over, as a cached batch of `foreachBatch` does, looks for these columns in vain.
  */
case class KnownOrderExec(child: SparkPlan) extends PassThroughCodegen {
  override def nodeName: String = "KnownOrder"
  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering.takeWhile(_.references.subsetOf(child.outputSet))

  override def doConsume(ctx: CodegenContext, input: Seq[ExprCode], row: ExprCode): String = consume(ctx, input)
  override protected def doExecute(): RDD[InternalRow] = child.execute()
  override protected def withNewChildInternal(newChild: SparkPlan): KnownOrderExec = copy(child = newChild)
}

/** Puts a [[KnownOrderExec]] above each operator over an order of ours that says more of it than its columns can. */
object LimitKnownOrders extends ColumnarRule {

  override def preColumnarTransitions: Rule[SparkPlan] = new Rule[SparkPlan] {
    override val ruleName: String = LimitKnownOrders.getClass.getName.stripSuffix("$")

    override def apply(plan: SparkPlan): SparkPlan =
      if (plan.exists(_.isInstanceOf[InOrderExec]))
        plan.transformUp { case node if saysTooMuch(node) => KnownOrderExec(node) }
      else plan
  }

  private[tidemark] def saysTooMuch(node: SparkPlan): Boolean =
    node.outputOrdering.exists(!_.references.subsetOf(node.outputSet))
}
