package org.apache.spark.sql.tidemark.exec

import java.util.UUID

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.tidemark.columns.NoteTime

/** The place in a plan where a query reads the watermark that it notes. It does nothing to the rows, and generates no code. */
case class NoteTimeExec(noteId: UUID, column: Attribute, child: SparkPlan) extends PassThroughCodegen {
  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering
  override def usedInputs: AttributeSet = AttributeSet.empty

  override def doConsume(ctx: CodegenContext, input: Seq[ExprCode], row: ExprCode): String = consume(ctx, input)
  override protected def doExecute(): RDD[InternalRow] = child.execute()
  override protected def withNewChildInternal(newChild: SparkPlan): NoteTimeExec = copy(child = newChild)
}

/** Plans [[NoteTime]]. */
object NoteTimeStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case NoteTime(id, column, _, child) => NoteTimeExec(id, column, planLater(child)) :: Nil
    case _ => Nil
  }
}
