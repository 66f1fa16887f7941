package org.apache.spark.sql.tidemark.planning

import io.tidemark.core.{EventTimeUnits, Input, OperatorId, Side}
import io.tidemark.core.plan.OperatorWatermarks

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.streaming.operators.stateful._
import org.apache.spark.sql.execution.streaming.operators.stateful.join.StreamingSymmetricHashJoinExec
import org.apache.spark.sql.execution.streaming.state.{HDFSBackedStateStoreProvider, RocksDBStateStoreProvider}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.tidemark.columns.EventTimeMarks
import org.apache.spark.sql.tidemark.exec.order.HoldExec

/** Whether a watermark that advanced by the wall clock alone is worth a no-data batch: only if it may close something.
  *
  * The wall clock never stops. Without this rule a query with silent inputs would run a batch at each of its steps, and a
  * query with `Trigger.AvailableNow` would not end. A watermark that advances because of rows, or because an
  * input became idle, runs its batch immediately, as in Spark.
  */
private[tidemark] object WallClockSteps {

  /** A no-data batch for the wall clock runs only after this many times the duration of the last batch. */
  val Pauses = 4

  /** Whether it is too soon for such a batch, given how long the last one took. */
  def isTooSoon(nowMillis: Long, endMillis: Long, tookMillis: Long): Boolean =
    nowMillis - endMillis < Pauses * tookMillis

  /** Whether some operator may have something to emit or evict.
    * @param plan the plan of the last batch, after it has run
    * @param standing the watermarks without the wall clock
    * @param now the watermarks with it
    */
  def mayClose(plan: SparkPlan, standing: OperatorWatermarks, now: OperatorWatermarks): Boolean = plan.exists {
    case writer: StateStoreWriter =>
      val id = writer.stateInfo.map(info => OperatorId(info.operatorId))
      id.exists(id => standing.progress(id) != now.progress(id) && mayClose(plan, writer, id, standing, now))
    case _ => false
  }

  private def mayClose(
      plan: SparkPlan,
      writer: StateStoreWriter,
      id: OperatorId,
      standing: OperatorWatermarks,
      now: OperatorWatermarks): Boolean = {
    def evicted(levels: OperatorWatermarks) =
      levels.inputs.get(Input(id, Side.Left)).flatMap(_.evicted).map(_.watermark.sparkMillis)
    writer match {
      case hold: HoldExec => evicted(now).exists(hold.isDue)
      case _: StreamingGlobalLimitExec => false
      case _ if isEmpty(writer) => false
      case save: StateStoreSaveExec =>
        val next = for {
          from <- evicted(standing)
          to <- evicted(now)
          window <- save.keyExpressions.find(EventTimeMarks.isMarked)
          end <- WindowEnds.of(save.child, window.exprId).flatMap(_.next(EventTimeUnits.micros(from)))
        } yield end <= EventTimeUnits.micros(to)
        next.getOrElse(true)
      // Timers, sessions and single rows may be due at any time.
      case _ => true
    }
  }

  /** Whether the operator's state is empty. An operator that does not report it, or did not run in this batch, may have
    * state.
    */
  private def isEmpty(writer: StateStoreWriter): Boolean = {
    val reportsRows = writer match {
      case _: StateStoreSaveExec | _: SessionWindowStateStoreSaveExec | _: StreamingSymmetricHashJoinExec => true
      case _: StreamingDeduplicateExec | _: StreamingDeduplicateWithinWatermarkExec => true
      case _ => false
    }
    reportsRows && isCounted(writer.conf) && writer.longMetric("numStateStoreInstances").value > 0 &&
    writer.longMetric("numTotalStateRows").value == 0
  }

  private val counted = Seq(classOf[HDFSBackedStateStoreProvider], classOf[RocksDBStateStoreProvider]).map(_.getName)

  private def isCounted(conf: SQLConf): Boolean =
    counted.contains(conf.stateStoreProviderClass) &&
      conf.getConfString("spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows", "true").toBoolean
}
