package org.apache.spark.sql.tidemark.planning

import io.tidemark.core.{Input, OperatorId, OperatorWatermarks, Side}

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.streaming.operators.stateful._
import org.apache.spark.sql.execution.streaming.operators.stateful.join.StreamingSymmetricHashJoinExec
import org.apache.spark.sql.execution.streaming.state.{HDFSBackedStateStoreProvider, RocksDBStateStoreProvider}
import org.apache.spark.sql.internal.SQLConf

/** Whether a watermark that has gone on by the clock alone is worth a batch without data: only where it may close something.
  *
  * The clock never stands still, so without this a query whose inputs are silent would run a batch at every step of it, and
  * one that is to end when all is read would not end. What goes on because of rows, or of somebody's silence, runs its batch
  * at once, as in Spark.
  */
private[tidemark] object ClockSteps {

  /** A batch takes so much less time than passes before the next one that only the clock wants. */
  val Pauses = 4

  /** Whether it is too soon, as the last batch has taken so long. */
  def isTooSoon(nowMillis: Long, endMillis: Long, tookMillis: Long): Boolean =
    nowMillis - endMillis < Pauses * tookMillis

  /** Whether some operator may have something to emit or evict.
    * @param plan that of the last batch, when it has run
    * @param standing what operators work with if the clock is left out, and @param now with it
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
      case _: StreamingGlobalLimitExec => false
      case _ if isEmpty(writer) => false
      case save: StateStoreSaveExec =>
        val next = for {
          from <- evicted(standing)
          to <- evicted(now)
          end <- save.keyExpressions.flatMap(WindowEnds.next(plan, _, from * 1000L)).minOption
        } yield end <= to * 1000L
        next.getOrElse(true)
      // Timers, sessions and single rows may be due at any time.
      case _ => true
    }
  }

  /** Whether nothing is in its state. Who does not tell, or has not run in this batch, may have something. */
  private def isEmpty(writer: StateStoreWriter): Boolean = {
    val tells = writer match {
      case _: StateStoreSaveExec | _: SessionWindowStateStoreSaveExec | _: StreamingSymmetricHashJoinExec => true
      case _: StreamingDeduplicateExec | _: StreamingDeduplicateWithinWatermarkExec => true
      case _ => false
    }
    tells && isCounted(writer.conf) && writer.longMetric("numStateStoreInstances").value > 0 &&
    writer.longMetric("numTotalStateRows").value == 0
  }

  private val counted = Seq(classOf[HDFSBackedStateStoreProvider], classOf[RocksDBStateStoreProvider]).map(_.getName)

  private def isCounted(conf: SQLConf): Boolean =
    counted.contains(conf.stateStoreProviderClass) &&
      conf.getConfString("spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows", "true").toBoolean
}
