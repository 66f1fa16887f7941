package org.apache.spark.sql.tidemark.exec

import io.tidemark.core.{EventTimeUnits, Input}

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.tidemark.columns.{EventTimeMarks, OperatorInput}
import org.apache.spark.sql.tidemark.functions.CodegenLong
import org.apache.spark.sql.types.{DataType, StructType}

/** Counts the rows of an operator's input that are late by their own column, drops them if the operator does not
  * (`filters`), and records the carried columns of the others.
  *
  * Takes part in whole-stage code generation. A row costs one comparison, and a look into a small map if columns are
  * carried. A null event time is never late.
  *
  * @see [[OperatorInput]] for its purpose. [[ApplyWatermarks]] sets `watermarks`, and adds this node below operators that
  *   need nothing but the count
  */
case class OperatorInputExec(
    active: Option[Attribute],
    carried: Seq[Attribute],
    filters: Boolean,
    watermarks: OperatorInputExec.Watermarks,
    child: SparkPlan)
    extends PassThroughCodegen {
  import OperatorInputExec._

  override def output: Seq[Attribute] = OperatorInput.output(child.output, active)
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering

  override lazy val metrics: Map[String, SQLMetric] = Map(
    LateRowsMetric -> SQLMetrics.createMetric(sparkContext, "number of late rows"),
    "numOutputRows" -> SQLMetrics.createMetric(sparkContext, "number of output rows"))

  /** Carried values by bucket of the active column's time, if this batch's values are recorded. */
  @transient lazy val carriedMinima: Option[CarriedMinimaAccumulator] =
    active.filter(_ => watermarks.recordsCarried && carried.nonEmpty).map { column =>
      val width = if (column.dataType.isInstanceOf[StructType]) WindowBucketMillis else TimeBucketMillis
      val minima = new CarriedMinimaAccumulator(width, carried.size)
      // Unnamed, because Spark keeps the values of named accumulators for every task in its status store.
      sparkContext.register(minima)
      minima
    }

  /** Late rows of the batch, once it has ended; `None` if no row can be late. */
  @transient lazy val late: Option[LateRows.Accumulator] = lateMicros.map { _ =>
    val late = new LateRows.Accumulator
    sparkContext.register(late)
    late
  }

  private def lateMicros: Option[Long] = watermarks.lateMillis.map(EventTimeUnits.micros)

  private def splitTypes: Array[DataType] = watermarks.splitBy.map(_.dataType).toArray

  private def times: Seq[Expression] = (active ++ carried).map(EventTimeMarks.micros).toSeq

  override def usedInputs: AttributeSet =
    if (isNoop) AttributeSet.empty else references ++ AttributeSet(watermarks.splitBy.flatMap(_.references))

  private def isNoop: Boolean = active.isEmpty || (lateMicros.isEmpty && carriedMinima.isEmpty)

  override def doConsume(ctx: CodegenContext, input: Seq[ExprCode], row: ExprCode): String = {
    val numOutput = metricTerm(ctx, "numOutputRows")
    if (isNoop) s"$numOutput.add(1);\n${consume(ctx, input)}"
    else {
      ctx.currentVars = input
      def bound(expressions: Seq[Expression]) = BindReferences.bindReferences(expressions, child.output)
      val codes = bound(times).map(_.genCode(ctx))
      val time = codes.head
      val late = lateMicros.map { at =>
        val limit = CodegenLong(ctx, "lateMicros", at)
        val counter = ctx.addReferenceObj("late", this.late.get)
        val types = ctx.addReferenceObj("types", splitTypes)
        val term =
          ctx.addMutableState(
            classOf[LateRows.TaskLateRows].getName,
            "late",
            v => s"$v = $counter.begin($types);",
            true)
        val (key, split) =
          if (watermarks.splitBy.isEmpty) "" -> ""
          else {
            val key = GenerateUnsafeProjection.createCode(ctx, bound(watermarks.splitBy))
            key.code.toString -> s", ${key.value}"
          }
        s"""if (!${time.isNull} && ${time.value} <= $limit) {
          |  ${metricTerm(ctx, LateRowsMetric)}.add(1);
          |  $key
          |  $term.add($limit - ${time.value}$split);
          |  ${if (filters) "continue;" else ""}
          |}""".stripMargin
      }
      val record = carriedMinima.map { minima =>
        val reference = ctx.addReferenceObj("minima", minima)
        val term =
          ctx.addMutableState(classOf[TaskCarriedMinima].getName, "carried", v => s"$v = $reference.begin();", true)
        val each = codes.tail.zipWithIndex.map { case (code, index) =>
          s"${code.code}\nif (!${code.isNull}) $term.observe($index, ${code.value});"
        }
        s"""if (!${time.isNull}) {
          |  $term.bucket(${time.value});
          |  ${each.mkString("\n")}
          |}""".stripMargin
      }
      // A loop for `continue` to leave; Spark's own filter does the same.
      s"""do {
        |  ${time.code}
        |  ${late.getOrElse("")}
        |  ${record.getOrElse("")}
        |  $numOutput.add(1);
        |  ${consume(ctx, input)}
        |} while (false);""".stripMargin
    }
  }

  override protected def doExecute(): RDD[InternalRow] = {
    val (numLate, numOutput, bound, counter, minima) =
      (longMetric(LateRowsMetric), longMetric("numOutputRows"), lateMicros, late, carriedMinima)
    val (expressions, input, noop, drops) = (times, child.output, isNoop, filters)
    val (splitBy, types) = (watermarks.splitBy, splitTypes)
    child.execute().mapPartitionsInternal { rows =>
      if (noop) rows.map { row => numOutput += 1; row }
      else {
        val project = UnsafeProjection.create(expressions, input)
        val observed = minima.map(_.begin())
        val counted = counter.map(_.begin(types))
        val split = Option.when(splitBy.nonEmpty)(UnsafeProjection.create(splitBy, input))
        rows.filter { row =>
          val at = project(row)
          val isLate = bound.exists(micros => !at.isNullAt(0) && at.getLong(0) <= micros)
          if (isLate) {
            numLate += 1
            val behind = bound.get - at.getLong(0)
            counted.foreach(late => split.fold(late.add(behind))(key => late.add(behind, key(row))))
          }
          val passes = !isLate || !drops
          if (passes) numOutput += 1
          if (passes && !at.isNullAt(0)) observed.foreach { task =>
            task.bucket(at.getLong(0))
            var index = 1
            while (index < expressions.size) {
              if (!at.isNullAt(index)) task.observe(index - 1, at.getLong(index))
              index += 1
            }
          }
          passes
        }
      }
    }
  }

  override protected def withNewChildInternal(newChild: SparkPlan): OperatorInputExec = copy(child = newChild)
}

object OperatorInputExec {

  /** @param input which input of which operator this is; `None` until the watermarks are known
    * @param lateMillis rows at or before it are late (ms); `None` if no row is
    * @param passes whether the operator emits late rows as well
    * @param recordsCarried whether carried columns are recorded
    * @param splitBy what names the split of a row here; empty if that is not known
    */
  final case class Watermarks(
      input: Option[Input],
      lateMillis: Option[Long],
      passes: Boolean,
      recordsCarried: Boolean,
      splitBy: Seq[Expression] = Nil) {
    override def toString: String = {
      val by = if (splitBy.isEmpty) "" else s",$splitBy"
      s"Watermarks($input,$lateMillis,${if (passes) "passes," else ""}$recordsCarried$by)"
    }
  }

  val Unset: Watermarks = Watermarks(None, None, passes = false, recordsCarried = false)
  val LateRowsMetric: String = "numLateRows"

  // Each window has a bucket. Single times share buckets, so that there are fewer buckets than rows.
  private val WindowBucketMillis = 1L
  private val TimeBucketMillis = 1000L
}
