package org.apache.spark.sql.tidemark.check

import java.sql.Timestamp

import io.tidemark.core.why.Finding

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.streaming.InternalOutputModes._
import org.apache.spark.sql.functions._
import org.apache.spark.sql.streaming.{GroupState, GroupStateTimeout, OutputMode}
import org.apache.spark.sql.tidemark.support.WatermarkTest

/** Plans of queries, and what is found in them before they run. */
trait ExplainTest extends WatermarkTest {
  import testImplicits._

  protected def explained(df: DataFrame, mode: OutputMode = Append): Explanation =
    Explanation.of(spark, df.queryExecution.analyzed, mode)

  protected def found(df: DataFrame, mode: OutputMode): Seq[Finding] = explained(df, mode).findings

  protected def orders: DataFrame = timed("at", "10 minutes")._2
  protected def payments: DataFrame = timed("paid", "10 minutes", "order")._2
  protected def windows(df: DataFrame, time: String = "at"): DataFrame = df.groupBy(window(col(time), "1 hour")).count()
  protected def near: String = "id = order AND paid >= at AND paid <= at + INTERVAL 15 MINUTES"
  protected def joined(kind: String = "inner", on: String = near): DataFrame = orders.join(payments, expr(on), kind)

  protected def withState(df: DataFrame): DataFrame = df.select($"id", $"at").as[(Int, Timestamp)]
    .groupByKey(_._1)
    .flatMapGroupsWithState(Append, GroupStateTimeout.EventTimeTimeout)(
      (id: Int, _: Iterator[(Int, Timestamp)], _: GroupState[Int]) => Iterator(id))
    .toDF()

  // These are said of nearly every query that is sound.
  protected val usual = Set("FAR_FUTURE", "LAST_WINDOW_STAYS", "DEDUP_EQUAL_TIMES")
  protected def unusual(explanation: Explanation): Seq[String] = explanation.findings.map(_.code).filterNot(usual)
}
