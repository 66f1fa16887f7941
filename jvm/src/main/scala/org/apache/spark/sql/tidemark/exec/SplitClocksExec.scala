package org.apache.spark.sql.tidemark.exec

import java.util.UUID

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.tidemark.columns.EventTimeMarks
import org.apache.spark.sql.tidemark.exec.clocks.{ClockLimits, SplitAccumulator, TaskClocks}
import org.apache.spark.sql.types.{BooleanType, StringType}

/** Keeps the largest event time of each split while a batch runs; its rows pass through unchanged.
  *
  * Takes part in whole-stage code generation. A row with a null event time moves no clock. Neither does a row that is
  * too far ahead of the wall clock; such rows are counted.
  *
  * @param keys the columns that decide a row's split; without any, the input is one split
  * @param limits written by [[ApplyWatermarks]]; `None` until then, and in queries that are left to Spark
  */
case class SplitClocksExec(
    clocksId: UUID,
    column: String,
    time: Attribute,
    keys: Seq[Attribute],
    limits: Option[ClockLimits],
    child: SparkPlan)
    extends PassThroughCodegen {

  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering

  /** The event times of this batch, once it has ended. */
  @transient lazy val seen: SplitAccumulator = {
    val accumulator = new SplitAccumulator(limited.maxSplits)
    // Unnamed, because Spark keeps the values of named accumulators for every task in its status store.
    sparkContext.register(accumulator)
    accumulator
  }

  private def collector: TaskClocks.Factory = TaskClocks.Factory(seen, column, keys.map(_.dataType).toArray, limited)

  private def limited: ClockLimits = limits.getOrElse(ClockLimits.Unlimited)

  override def usedInputs: AttributeSet = AttributeSet(time +: keys)

  override def doConsume(ctx: CodegenContext, input: Seq[ExprCode], row: ExprCode): String = {
    val factory = ctx.addReferenceObj("clocks", collector)
    val clocks = ctx.addMutableState(classOf[TaskClocks].getName, "clocks", v => s"$v = $factory.begin();", true)
    ctx.currentVars = input
    val bound = BindReferences.bindReferences(EventTimeMarks.micros(time) +: keys, child.output)
    val micros = bound.head.genCode(ctx)
    val millis = ctx.freshName("millis")
    s"""${micros.code}
      |if (!${micros.isNull}) {
      |  long $millis = Math.floorDiv(${micros.value}, 1000L);
      |  if ($clocks.believes($millis)) {
      |    ${observe(ctx, bound.tail, clocks, millis)}
      |  }
      |}
      |${consume(ctx, input)}""".stripMargin
  }

  private def observe(ctx: CodegenContext, keys: Seq[Expression], clocks: String, millis: String): String = keys match {
    case Nil => s"$clocks.observe($millis);"
    case Seq(single) if TaskClocks.isSimple(single.dataType) =>
      val key = single.genCode(ctx)
      // What `observe` takes: a number, or the parts of a text.
      val value = single.dataType match {
        case _: StringType => s"${key.value}.getBaseObject(), ${key.value}.getBaseOffset(), ${key.value}.numBytes()"
        case BooleanType => s"(${key.value} ? 1L : 0L)"
        case _ => s"(long) ${key.value}"
      }
      s"""${key.code}
        |if (${key.isNull}) $clocks.observe($millis);
        |else $clocks.observe($value, $millis);""".stripMargin
    case several =>
      val key = GenerateUnsafeProjection.createCode(ctx, several)
      s"${key.code}\n$clocks.observe(${key.value}, $millis);"
  }

  override protected def doExecute(): RDD[InternalRow] = {
    val (factory, input) = (collector, child.output)
    val (micros, by) = (EventTimeMarks.micros(time), keys)
    child.execute().mapPartitionsInternal { rows =>
      val clocks = factory.begin()
      val time = UnsafeProjection.create(Seq(micros), input)
      val split = UnsafeProjection.create(by, input)
      rows.map { row =>
        val at = time(row)
        if (!at.isNullAt(0)) {
          val millis = Math.floorDiv(at.getLong(0), 1000L)
          if (clocks.believes(millis)) clocks.noteRow(split(row), millis)
        }
        row
      }
    }
  }

  override protected def withNewChildInternal(newChild: SparkPlan): SplitClocksExec = copy(child = newChild)
}
