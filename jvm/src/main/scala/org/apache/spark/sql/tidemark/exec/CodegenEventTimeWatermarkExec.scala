package org.apache.spark.sql.tidemark.exec

import java.util.UUID

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.streaming.operators.stateful._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.tidemark.columns.{EventTimeMarks, EventTimeOptions}
import org.apache.spark.unsafe.types.CalendarInterval

/** Spark's watermark operator, in generated code.
  *
  * Spark's own operator copies each row's event time into a separate row and adds it to an accumulator. It takes no
  * part in whole-stage code generation, so the operators on either side of it are compiled apart. This subclass fills
  * the same accumulator at a fraction of the cost, and code that looks for Spark's node finds it.
  */
final class CodegenEventTimeWatermarkExec(nodeId: UUID, eventTime: Attribute, delay: CalendarInterval, child: SparkPlan)
    extends EventTimeWatermarkExec(nodeId, eventTime, delay, child)
    with PassThroughCodegen {

  override def nodeName: String = "EventTimeWatermark"

  private def micros: Expression = EventTimeMarks.micros(eventTime)

  override def usedInputs: AttributeSet = AttributeSet(eventTime)

  override def doConsume(ctx: CodegenContext, input: Seq[ExprCode], row: ExprCode): String = {
    val factory = ctx.addReferenceObj("times", EventTimes.Factory(eventTimeStats))
    val times = ctx.addMutableState(classOf[EventTimes].getName, "times", v => s"$v = $factory.begin();", true)
    ctx.currentVars = input
    val time = BindReferences.bindReference(micros, child.output).genCode(ctx)
    // As in Spark, a row with a null event time counts as one of 1970.
    s"""${time.code}
      |$times.add(${time.isNull} ? 0L : ${time.value});
      |${consume(ctx, input)}""".stripMargin
  }

  override protected def doExecute(): RDD[InternalRow] = {
    val (factory, expression, input) = (EventTimes.Factory(eventTimeStats), micros, child.output)
    child.execute().mapPartitionsInternal { rows =>
      val times = factory.begin()
      val time = UnsafeProjection.create(Seq(expression), input)
      rows.map { row =>
        val at = time(row)
        times.add(if (at.isNullAt(0)) 0L else at.getLong(0))
        row
      }
    }
  }

  override protected def withNewChildInternal(newChild: SparkPlan): CodegenEventTimeWatermarkExec =
    new CodegenEventTimeWatermarkExec(nodeId, eventTime, delay, newChild)
}

private[tidemark] object CodegenEventTimeWatermarkExec {

  /** Replaces Spark's operator by this one, above a [[SplitClocksExec]] if the watermark needs its own clocks. */
  def of(nodeId: UUID, eventTime: Attribute, delay: CalendarInterval, child: SparkPlan, conf: SQLConf): SparkPlan = {
    val options = EventTimeOptions.of(eventTime)
    // The clocks of a split input are further down, at its SplitBy node.
    val clocks =
      if (options.split.nonEmpty || !options.hasClocks(conf)) child
      else SplitClocksExec(nodeId, eventTime.name, eventTime, Nil, limits = None, child)
    new CodegenEventTimeWatermarkExec(nodeId, eventTime, delay, clocks)
  }
}
