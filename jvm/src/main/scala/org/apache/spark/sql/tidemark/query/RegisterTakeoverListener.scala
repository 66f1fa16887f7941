package org.apache.spark.sql.tidemark.query

import org.apache.spark.sql.{classic, SparkSession}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.streaming.{WriteToStream, WriteToStreamStatement}
import org.apache.spark.sql.streaming.StreamingQueryListener
import org.apache.spark.sql.tidemark.columns.PlanNote
import org.apache.spark.sql.tidemark.session.SessionConf

/** Puts the listener into the query manager of every session that starts a query, because each session has its own. It
  * also refuses a query that cannot note its time, before that query starts.
  *
  * @param another a listener that hears of each event after the takeover listener
  */
private[tidemark] final class RegisterTakeoverListener(
    session: SparkSession,
    render: RunningQueries.Render,
    another: => StreamingQueryListener)
    extends (LogicalPlan => Unit) {

  override def apply(plan: LogicalPlan): Unit = {
    plan match {
      // Settings are read second: a query that notes nothing runs whatever they are.
      case query: WriteToStream
          if PlanNote.areIn(query.inputQuery) && SessionConf.enabled(session.sessionState.conf) =>
        PlanNote.requireValid(query.inputQuery, query.outputMode)
      case _ =>
    }
    listen(plan)
  }

  private def listen(plan: LogicalPlan): Unit = plan match {
    case _: WriteToStream | _: WriteToStreamStatement =>
      val queries = session.streams
      queries.synchronized {
        if (!queries.listListeners().exists(_.isInstanceOf[TakeoverListener])) {
          queries.addListener(new TakeoverListener(session.asInstanceOf[classic.SparkSession], render))
          queries.addListener(another)
        }
      }
    case _ =>
  }
}
