package org.apache.spark.sql.tidemark.exec

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, SortOrder}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{ColumnarRule, SparkPlan}
import org.apache.spark.sql.tidemark.exec.order.InOrderExec

/** Says nothing of the order of its rows, and leaves them as they are.
  *
  * Spark gives a function of `foreachBatch` the columns of the analyzed plan with the order of the executed one. Their ids
  * may differ, and a batch that is cached looks in vain for the columns of its order.
  */
case class EndOfOrderExec(child: SparkPlan) extends PassThroughCodegen {
  override def nodeName: String = "EndOfOrder"
  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = Nil

  override def doConsume(ctx: CodegenContext, input: Seq[ExprCode], row: ExprCode): String = consume(ctx, input)
  override protected def doExecute(): RDD[InternalRow] = child.execute()
  override protected def withNewChildInternal(newChild: SparkPlan): EndOfOrderExec = copy(child = newChild)
}

/** Ends each plan that has an order of ours with an [[EndOfOrderExec]]. */
object EndOrders extends ColumnarRule {

  override def preColumnarTransitions: Rule[SparkPlan] = new Rule[SparkPlan] {
    override val ruleName: String = EndOrders.getClass.getName.stripSuffix("$")

    override def apply(plan: SparkPlan): SparkPlan =
      if (plan.outputOrdering.nonEmpty && plan.exists(_.isInstanceOf[InOrderExec])) EndOfOrderExec(plan) else plan
  }
}
