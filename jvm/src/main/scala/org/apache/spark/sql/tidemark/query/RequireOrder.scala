package org.apache.spark.sql.tidemark.query

import io.tidemark.{OrderErrors, TidemarkException}

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{ColumnarRule, SparkPlan}
import org.apache.spark.sql.tidemark.planning.OperatorOrder
import org.apache.spark.sql.tidemark.session.SessionConf
import org.apache.spark.sql.tidemark.stream.CurrentQuery

/** With `spark.tidemark.requireOrder`, refuses a query with an operator whose groups are in no known order over all batches. A
  * plan that is only explained shows where the order is lost.
  */
final class RequireOrder(session: SparkSession) extends ColumnarRule {

  override def preColumnarTransitions: Rule[SparkPlan] = new Rule[SparkPlan] {
    override val ruleName: String = classOf[RequireOrder].getName

    override def apply(plan: SparkPlan): SparkPlan = {
      if (SessionConf.requireOrderOfAnyPlan(conf) && CurrentQuery.of(session).nonEmpty) {
        // The operator nearest to a source has the largest number.
        val lost = OperatorOrder.in(plan).toSeq.sortBy(-_._1.value).flatMap { case (_, order) =>
          order.unknown.map(order.operator -> _)
        }
        lost.headOption.foreach { case (operator, lost) =>
          throw new TidemarkException(OrderErrors.OrderLost(operator, lost.at, lost.why))
        }
      }
      plan
    }
  }
}
