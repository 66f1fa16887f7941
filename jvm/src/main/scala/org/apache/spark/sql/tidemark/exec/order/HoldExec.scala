package org.apache.spark.sql.tidemark.exec.order

import java.util.concurrent.TimeUnit.NANOSECONDS

import io.tidemark.{OrderErrors, TidemarkException}
import io.tidemark.core.EventTimeUnits

import org.apache.hadoop.conf.Configuration

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.physical.Distribution
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.streaming.operators.stateful._
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.tidemark.columns.EventTimeMarks
import org.apache.spark.sql.tidemark.exec.held.{HeldColumns, HeldOrder, HeldRows, HeldTimes, PageStore}
import org.apache.spark.util.CompletionIterator

/** Holds rows until the watermark has passed their event time.
  *
  * Batch n emits exactly the rows with an event time after the watermark of batch n-1 and up to that of batch n. So
  * rows of a later batch are later, for every key and in every partition; [[InOrderExec]] makes the order within a batch.
  *
  * Spark gives an operator its state only if it knows the operator's class, and calls its `copy`. This one is a subclass
  * of a small stateful operator for that reason alone.
  *
  * @param watermarks up to where this batch releases rows; [[planning.WriteWatermarks]] writes it
  */
final class HoldExec private[exec] (
    streamLimit: Long,
    child: SparkPlan,
    stateInfo: Option[StatefulOperatorStateInfo],
    outputMode: Option[OutputMode],
    val order: HeldOrder,
    val watermarks: HoldExec.Watermarks)
    extends StreamingGlobalLimitExec(streamLimit, child, stateInfo, outputMode) {
  import HoldExec._

  override def copy(
      streamLimit: Long,
      child: SparkPlan,
      stateInfo: Option[StatefulOperatorStateInfo],
      outputMode: Option[OutputMode]): HoldExec =
    new HoldExec(streamLimit, child, stateInfo, outputMode, order, watermarks)

  private[tidemark] def withWatermarks(watermarks: Watermarks): HoldExec =
    if (watermarks == this.watermarks) this
    else new HoldExec(streamLimit, child, stateInfo, outputMode, order, watermarks)

  // A held row may be older than a column.
  override def output: Seq[Attribute] =
    if (order.isAdded) child.output else child.output.map(_.withNullability(true))

  private def micros: Expression = EventTimeMarks.micros(order.time)

  // All rows as one group lie in one partition, by a constant: Spark expects each partition's store to be committed.
  override def requiredChildDistribution: Seq[Distribution] = {
    val keys = if (order.by.isEmpty) Seq(Literal(0)) else order.by
    StatefulOperatorPartitioning.getCompatibleDistribution(keys, getStateInfo, conf) :: Nil
  }

  override def requiredChildOrdering: Seq[Seq[SortOrder]] = Seq(Seq(SortOrder(micros, Ascending)))

  /** The smallest and the largest event time that are held when the batch has ended (µs). */
  @transient private[tidemark] lazy val times: HeldTimes = {
    val times = new HeldTimes
    sparkContext.register(times)
    times
  }

  // As for Spark's own operators, also if no held row is due: rows of the next batch are late by that watermark.
  override def shouldRunAnotherBatch(newInputWatermark: Long): Boolean = newInputWatermark > watermarks.sparkMillis

  /** Whether a watermark has passed a row that is held (ms). */
  private[tidemark] def isDue(watermarkMillis: Long): Boolean =
    times.value.exists(_._1 <= EventTimeUnits.micros(watermarkMillis))

  override protected def customStatefulOperatorMetrics: Seq[StatefulOperatorCustomMetric] =
    StatefulOperatorCustomSumMetric(HeldBytes, "bytes of held rows") +: super.customStatefulOperatorMetrics

  override def validateAndMaybeEvolveStateSchema(
      hadoopConf: Configuration,
      batchId: Long,
      stateSchemaVersion: Int): List[StateSchemaValidationResult] = {
    val encoding = conf.getConfString(Encoding, RowEncoding)
    if (!encoding.equalsIgnoreCase(RowEncoding))
      throw new TidemarkException(OrderErrors.OrderStateEncoding(order.time.name, encoding))
    val schema = StateStoreColFamilySchema(
      StateStore.DEFAULT_COL_FAMILY_NAME,
      keySchemaId = 0,
      PageStore.KeySchema,
      valueSchemaId = 0,
      PageStore.ValueSchema)
    List(StateSchemaCompatibilityChecker.validateAndMaybeEvolveStateSchema(
      getStateInfo,
      hadoopConf,
      List(schema),
      session.sessionState,
      stateSchemaVersion))
  }

  override protected def doExecute(): RDD[InternalRow] = {
    metrics
    val columns = HeldColumns.of(order, child.output, conf.caseSensitiveAnalysis)
    val (time, input, heldTimes) = (micros, child.output, times)
    val release = watermarks.releaseMillis.fold(Long.MinValue)(EventTimeUnits.micros)
    child.execute().mapPartitionsWithStateStore(
      getStateInfo,
      PageStore.KeySchema,
      PageStore.ValueSchema,
      NoPrefixKeyStateEncoderSpec(PageStore.KeySchema),
      session.sessionState,
      Some(session.streams.stateStoreCoordinator)) { (store, rows) =>
      val start = System.nanoTime
      val numOutput = longMetric("numOutputRows")
      val held = new HeldRows(PageStore.of(store), columns, release)
      val timeOf = UnsafeProjection.create(Seq(time), input)
      val atOnce = rows.filter { row =>
        val at = timeOf(row)
        val waits = !at.isNullAt(0) && at.getLong(0) > release
        if (waits) held.hold(at.getLong(0), row.asInstanceOf[UnsafeRow])
        !waits
      }
      // The pages are read when the input has ended, so that nothing in them changes meanwhile.
      val released = (atOnce ++ held.due()).map { row => numOutput += 1; row }
      CompletionIterator[InternalRow, Iterator[InternalRow]](
        released, {
          val pages = held.finish()
          heldTimes.add(pages.times)
          longMetric("numUpdatedStateRows") += held.held
          longMetric("numRemovedStateRows") += held.released
          longMetric("allUpdatesTimeMs") += NANOSECONDS.toMillis(System.nanoTime - start)
          longMetric("commitTimeMs") += timeTakenMs(store.commit())
          // The store counts pages, and people count rows.
          val total = longMetric("numTotalStateRows")
          val others = total.value
          setStoreMetrics(store)
          total.set(others + pages.rows)
          longMetric(HeldBytes) += pages.bytes
          setOperatorMetrics()
        })
    }
  }

  override def shortName: String = Name
  override def nodeName: String = "Hold"
  override def simpleString(maxFields: Int): String =
    s"Hold until ${order.time.name}${watermarks.releaseMillis.fold("")(at =>
        s", released up to ${java.time.Instant.ofEpochMilli(at)}")}, " +
      stateInfo.fold("no state")(_.toString)

  // Spark keeps a node that a rule replaces by an equal one, and a node with other watermarks is not equal.
  override def canEqual(that: Any): Boolean = that.isInstanceOf[HoldExec]
  override def equals(that: Any): Boolean = that match {
    case other: HoldExec => super.equals(other) && order == other.order && watermarks == other.watermarks
    case _ => false
  }
  override def hashCode: Int = super.hashCode

  override protected def otherCopyArgs: Seq[AnyRef] = Seq(order, watermarks)
  override protected def withNewChildInternal(newChild: SparkPlan): HoldExec =
    new HoldExec(streamLimit, newChild, stateInfo, outputMode, order, watermarks)
}

private[tidemark] object HoldExec {

  /** @param releaseMillis rows up to here are released (ms); `None`: no row is
    */
  final case class Watermarks(releaseMillis: Option[Long]) {
    private[HoldExec] def sparkMillis: Long = releaseMillis.fold(0L)(math.max(_, 0L))
  }

  private val Encoding = "spark.sql.streaming.stateStore.encodingFormat"
  private val RowEncoding = "unsaferow"

  /** The operator's name in the checkpoint. */
  val Name = "inOrder"

  /** The metric of the operator, in Spark's progress too. */
  val HeldBytes = "heldBytes"

  def apply(order: HeldOrder, child: SparkPlan): HoldExec =
    new HoldExec(Long.MaxValue, child, None, None, order, Watermarks(None))
}
