package org.apache.spark.sql.tidemark.exec

import org.apache.spark.sql.{SparkSession, SparkSessionExtensions}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{ColumnarRule, SparkPlan}
import org.apache.spark.sql.execution.streaming.EventTimeWatermarkExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.tidemark.session.SessionConf

/** Replaces Spark's operator of `withWatermark` by Tidemark's. In Spark 4.0 no strategy can run ahead of Spark's own. */
final class PlanWatermarks(session: SparkSession) extends ColumnarRule {

  override def preColumnarTransitions: Rule[SparkPlan] = new Rule[SparkPlan] {
    override val ruleName: String = classOf[PlanWatermarks].getName

    override def apply(plan: SparkPlan): SparkPlan =
      if (!SessionConf.enabled(settings)) plan
      else
        plan.transformUp {
          case origin: EventTimeWatermarkExec if !origin.isInstanceOf[CodegenEventTimeWatermarkExec] =>
            CodegenEventTimeWatermarkExec.of(origin.nodeId, origin.eventTime, origin.delay, origin.child, settings)
        }
  }

  private def settings: SQLConf = session.sessionState.conf
}

object PlanWatermarks {
  def inject(extensions: SparkSessionExtensions): Unit = extensions.injectColumnar(new PlanWatermarks(_))
}
