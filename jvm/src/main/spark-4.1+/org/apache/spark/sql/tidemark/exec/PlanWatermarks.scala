package org.apache.spark.sql.tidemark.exec

import org.apache.spark.sql.{SparkSession, SparkSessionExtensions}
import org.apache.spark.sql.catalyst.plans.logical.{EventTimeWatermark, LogicalPlan}
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.datasources.v2.StreamingDataSourceV2ScanRelation
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.tidemark.session.SessionConf

/** Plans `withWatermark`, ahead of Spark's own strategy. */
final class PlanWatermarks(session: SparkSession) extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case EventTimeWatermark(nodeId, eventTime, delay, child) if SessionConf.enabled(conf) && !isRealTime(child) =>
      CodegenEventTimeWatermarkExec.of(nodeId, eventTime, delay, planLater(child), conf) :: Nil
    case _ => Nil
  }

  /** Leaves queries with the real-time trigger to Spark, which accepts only its own operators there. */
  private def isRealTime(plan: LogicalPlan): Boolean = plan.exists {
    case scan: StreamingDataSourceV2ScanRelation => scan.relation.realTimeModeDuration.isDefined
    case _ => false
  }

  private def conf: SQLConf = session.sessionState.conf
}

object PlanWatermarks {
  def inject(extensions: SparkSessionExtensions): Unit = extensions.injectPlannerStrategy(new PlanWatermarks(_))
}
