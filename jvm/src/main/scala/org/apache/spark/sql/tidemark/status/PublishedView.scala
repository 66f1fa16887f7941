package org.apache.spark.sql.tidemark.status

import io.tidemark.TidemarkError
import io.tidemark.core.{OperatorId, OriginName}
import io.tidemark.core.history.History
import io.tidemark.core.why.Words

import org.apache.spark.internal.Logging
import org.apache.spark.sql.tidemark.batch.KnownState
import org.apache.spark.sql.tidemark.columns.OriginsOfPlan
import org.apache.spark.sql.tidemark.planning.OperatorOrder

/** What is known of a running query to reports, gauges and Spark's progress, and what the log is told of it.
  *
  * [[state]], [[latest]] and [[after]] may be called from any thread. The others belong to the query's own thread.
  *
  * @param label the query's name, for messages
  * @param run its output mode, whether it runs no-data batches, and whether its time counts as silence
  * @param waiting what a report says until the first batch is planned
  */
private[tidemark] final class PublishedView(
    label: String,
    origins: OriginsOfPlan,
    keepsHistory: Boolean,
    run: QueryView.Run,
    words: Words,
    waiting: Option[QueryView.Waiting])
    extends Logging {

  private val reasons = new ReasonLog(label, words)
  private val splitNews = new SplitNews(label, words)
  private val seenOnce = new SplitsSeenOnce

  @volatile private var orders = Map.empty[OperatorId, OperatorOrder]
  @volatile private var now: Option[QueryView.State] = waiting

  /** What a report is made from. */
  def state: Option[QueryView.State] = now.map(_.detached).map {
    case planned: QueryView.Planned => planned.copy(orders = orders)
    case other => other
  }

  /** `None` until the first batch of this run is planned. The splits in it belong to the query's own thread. */
  def latest: Option[QueryView.Planned] = now.collect { case planned: QueryView.Planned => planned }

  /** The query after this batch, as long as it is the last one. */
  def after(batch: Long): Option[QueryView.Planned] = latest.filter(_.snapshot.entry.batch == batch)

  /** Takes in the orders in which a batch's operators read their rows. An order that was lost once is lost: inputs without
    * rows are not in a batch's plan, and a part of a plan may be planned alone.
    */
  def ordered(found: Map[OperatorId, OperatorOrder]): Unit =
    orders ++= found.filter { case (id, order) => order.lost.nonEmpty || orders.get(id).forall(_.lost.isEmpty) }

  /** A batch is planned. What a user should know of its plan is logged once. */
  def planned(snapshot: QueryView.Snapshot, known: KnownState): Unit = {
    val before = latest
    val hints = before.fold(Seq.empty[TidemarkError])(_.hints)
    val more = snapshot.plan.hints.distinct.filterNot(hints.contains)
    more.foreach(hint => logWarning(s"$label: ${hint.message}"))
    val view = before.fold {
      val first = begun(snapshot, known)
      splitNews.begun(first)
      first
    }(_.copy(snapshot = snapshot, known = known))
    now = Some(view.copy(hints = hints ++ more))
  }

  /** The query when a batch has ended, with the reason why nothing comes out. It is published once the batch is durable. */
  def ended(endMillis: Long)(after: QueryView.Planned => QueryView.Planned): Option[QueryView.Planned] = {
    val ofThisRun = latest.fold(Map.empty[OriginName, QueryView.Totals])(_.totals)
    val view = latest.map(after).map(now => now.copy(seenOnce = seenOnce.after(ofThisRun, now)))
    // Before the first batch of a run, they are those of the run before.
    val before =
      if (ofThisRun.isEmpty) latest.fold(ofThisRun)(first => QueryView.totalsOf(first.snapshot.entry)) else ofThisRun
    view.foreach(splitNews.after(before, _, endMillis))
    view.map(current => current.copy(reason = reasons.after(current).orElse(current.reason)))
  }

  def publish(view: Option[QueryView.Planned]): Unit = now = view

  private def begun(snapshot: QueryView.Snapshot, known: KnownState): QueryView.Planned =
    QueryView.Planned(
      snapshot,
      origins,
      QueryView.noLateRows,
      QueryView.noLateRows,
      known,
      Nil,
      run,
      history = Option.when(keepsHistory)(History.of(origins.names)))
}
