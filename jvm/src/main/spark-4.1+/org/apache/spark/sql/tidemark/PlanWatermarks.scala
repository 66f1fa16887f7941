package org.apache.spark.sql.tidemark

import org.apache.spark.sql.{SparkSession, SparkSessionExtensions}
import org.apache.spark.sql.catalyst.plans.logical.{EventTimeWatermark, LogicalPlan}
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.internal.SQLConf

/** Plans `withWatermark`, ahead of Spark's own strategy. */
final class PlanWatermarks(session: SparkSession) extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case EventTimeWatermark(nodeId, eventTime, delay, child) if Settings.enabled(conf) =>
      KeyedWatermarkExec.of(nodeId, eventTime, delay, planLater(child), conf) :: Nil
    case _ => Nil
  }

  private def conf: SQLConf = session.sessionState.conf
}

object PlanWatermarks {
  def inject(extensions: SparkSessionExtensions): Unit = extensions.injectPlannerStrategy(new PlanWatermarks(_))
}
