package org.apache.spark.sql.tidemark

import io.tidemark.TidemarkConf

import org.apache.spark.sql.internal.SQLConf

/** Reads Tidemark's settings from a session. */
private[tidemark] object Settings {
  def enabled(conf: SQLConf): Boolean = read(conf, TidemarkConf.Enabled)
  def unboundedJoin(conf: SQLConf): TidemarkConf.Unbounded = read(conf, TidemarkConf.UnboundedJoin)

  private def read[A](conf: SQLConf, setting: TidemarkConf[A]): A =
    setting.get(key => Option(conf.getConfString(key, null)))
}

/** The settings of one query, as they were when it began to plan. */
private[tidemark] final case class QuerySettings(unboundedJoin: TidemarkConf.Unbounded)
