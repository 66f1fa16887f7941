package org.apache.spark.sql.tidemark.session

import java.time.ZoneId

import scala.util.Try

import io.tidemark.{TidemarkConf, TidemarkError, TidemarkException}
import io.tidemark.core.memory.WhenIdle
import io.tidemark.core.splits.OnReturn

import org.apache.spark.sql.catalyst.util.DateTimeUtils
import org.apache.spark.sql.internal.SQLConf

/** Reads Tidemark's settings from a session. */
private[tidemark] object SessionConf {
  private val OwnRules = "org.apache.spark.sql.tidemark."

  def enabled(conf: SQLConf): Boolean = read(conf, TidemarkConf.Enabled)
  def idleAfter(conf: SQLConf): Option[Long] = read(conf, TidemarkConf.IdleAfter)
  def onReturn(conf: SQLConf): OnReturn = read(conf, TidemarkConf.OnReturnOfSplit)
  def whenIdle(conf: SQLConf): WhenIdle = read(conf, TidemarkConf.WhenAllIdle)
  def maxAhead(conf: SQLConf): Option[Long] = read(conf, TidemarkConf.MaxAhead)
  def idleSideFollows(conf: SQLConf): Boolean = read(conf, TidemarkConf.IdleAtJoin)
  def downtimeIsSilence(conf: SQLConf): Boolean = read(conf, TidemarkConf.DowntimeIsSilence)
  def maxSplits(conf: SQLConf): Int = read(conf, TidemarkConf.MaxSplits)
  def scanOnlyWhenDue(conf: SQLConf): Boolean = read(conf, TidemarkConf.ScanOnlyWhenDue)
  def evictionSlack(conf: SQLConf): Double = read(conf, TidemarkConf.EvictionSlack)
  def unboundedJoin(conf: SQLConf): TidemarkConf.UnboundedJoinPolicy = read(conf, TidemarkConf.UnboundedJoin)
  def order(conf: SQLConf): TidemarkConf.OrderKept = read(conf, TidemarkConf.Order)
  def requireOrder(conf: SQLConf): Boolean = read(conf, TidemarkConf.RequireOrder)
  def keepsHistory(conf: SQLConf): Boolean = read(conf, TidemarkConf.History)
  def check(conf: SQLConf): TidemarkConf.Check = read(conf, TidemarkConf.CheckAtStart)
  def ui(conf: SQLConf): TidemarkConf.Ui = read(conf, TidemarkConf.WebUi)

  // Rules that see every plan read these two. A query without watermarks runs whatever they are, and a query with watermarks
  // is refused for a wrong value when it is taken over.
  def orderOfAnyPlan(conf: SQLConf): TidemarkConf.OrderKept = Try(order(conf)).getOrElse(TidemarkConf.Order.default)
  def requireOrderOfAnyPlan(conf: SQLConf): Boolean =
    Try(requireOrder(conf)).getOrElse(TidemarkConf.RequireOrder.default)

  /** In which people read times. */
  def zone(conf: SQLConf): ZoneId = DateTimeUtils.getZoneId(conf.sessionLocalTimeZone)

  /** The setting of Spark's own because of which queries are left to Spark, if there is one. */
  def leftToSpark(conf: SQLConf): Option[String] =
    if (!conf.getConf(SQLConf.STATEFUL_OPERATOR_ALLOW_MULTIPLE))
      Some(s"${SQLConf.STATEFUL_OPERATOR_ALLOW_MULTIPLE.key}=false")
    else if (conf.getConf(SQLConf.STREAMING_MULTIPLE_WATERMARK_POLICY) == "max")
      Some(s"${SQLConf.STREAMING_MULTIPLE_WATERMARK_POLICY.key}=max")
    else None

  /** Refuses a key that begins like one of Tidemark's settings and is not one, and a setting of Spark's that takes Tidemark's
    * own rules away.
    */
  def requireKnown(conf: SQLConf): Unit =
    mistyped(conf).orElse(excluded(conf)).foreach(error => throw new TidemarkException(error))

  private def excluded(conf: SQLConf): Option[TidemarkError] =
    conf.getConf(SQLConf.OPTIMIZER_EXCLUDED_RULES).filter(_.contains(OwnRules)).map { rules =>
      TidemarkError.InvalidSetting(
        SQLConf.OPTIMIZER_EXCLUDED_RULES.key,
        rules,
        Seq("a list without the rules of Tidemark, which a query with watermarks needs"))
    }

  /** The first problem with the settings of a session, even if nothing has read them yet. */
  def problem(conf: SQLConf): Option[TidemarkError] =
    mistyped(conf).orElse(TidemarkConf.all.flatMap { setting =>
      try {
        read(conf, setting)
        None
      } catch { case e: TidemarkException => Some(e.error) }
    }.headOption)

  private def mistyped(conf: SQLConf): Option[TidemarkError] =
    TidemarkConf.mistyped(conf.getAllConfs.keys).map { case (key, nearest) =>
      TidemarkError.UnknownSetting(key, nearest)
    }

  private def read[A](conf: SQLConf, setting: TidemarkConf[A]): A =
    setting.get(key => Option(conf.getConfString(key, null)))
}

/** The settings of one query, as they were when its first batch was planned. */
private[tidemark] final case class QuerySettings(
    unboundedJoin: TidemarkConf.UnboundedJoinPolicy,
    maxSplits: Int,
    scansWhenDue: Boolean,
    evictionSlack: Double,
    zone: ZoneId,
    keepsHistory: Boolean)
