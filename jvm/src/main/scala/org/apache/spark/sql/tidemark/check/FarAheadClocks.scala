package org.apache.spark.sql.tidemark.check

import java.time.Instant

import io.tidemark.core.memory.WatermarkEntry
import io.tidemark.core.splits.SplitNameTable

import org.apache.spark.sql.tidemark.columns.{PlanOrigin, OriginsOfPlan}

/** Names clocks of the checkpoint that are further ahead than `max_ahead` allows: the limit does not take them back. */
private[tidemark] object FarAheadClocks {

  /** @param nowMillis when the first batch of the run began */
  def warning(checkpoint: String, origins: OriginsOfPlan, entry: WatermarkEntry, nowMillis: Long): Option[String] = {
    val found = origins.all.flatMap(one => clockAhead(one, entry, nowMillis).map(one -> _))
    Option.when(found.nonEmpty) {
      val each = found.map { case (one, what) =>
        s"$what. Stop the query, and call tidemark.correct(\"$checkpoint\", key=\"${one.name}\")."
      }
      s"the checkpoint has clocks further ahead than max_ahead allows, and max_ahead does not take them back: ${each.mkString(" ")}"
    }
  }

  private def clockAhead(one: PlanOrigin, entry: WatermarkEntry, nowMillis: Long): Option[String] =
    for {
      ahead <- one.rules.maxAheadMillis
      state <- entry.origins.get(one.name)
      latest <- (state.splits.largest ++ state.watermark.millis).maxOption
      if latest > nowMillis && latest - nowMillis > ahead - one.rules.delayMillis
    } yield {
      val split = (0 until state.splits.size).find(state.splits.clock(_).contains(latest)).map(state.splits.name)
      val of = split.filter(_.nonEmpty).fold("")(name => s"split '${SplitNameTable.show(name)}' of ")
      s"$of'${one.name}' is at ${Instant.ofEpochMilli(latest)}"
    }
}
