package org.apache.spark.sql.tidemark.check

import java.time.Instant

import io.tidemark.core.memory.WatermarkEntry
import io.tidemark.core.splits.SplitNameTable

import org.apache.spark.sql.tidemark.columns.{OriginsOfPlan, PlanOrigin}

/** Names clocks of the checkpoint that are further ahead than `max_ahead` allows: the limit does not take them back. */
private[tidemark] object FarAheadClocks {

  /** @param nowMillis when the first batch of the run began */
  def warning(checkpoint: String, origins: OriginsOfPlan, entry: WatermarkEntry, nowMillis: Long): Option[String] = {
    val found = origins.all.flatMap(origin => clockAhead(origin, entry, nowMillis).map(origin -> _))
    Option.when(found.nonEmpty) {
      val each = found.map { case (origin, what) =>
        s"$what. Stop the query, and call tidemark.correct(\"$checkpoint\", key=\"${origin.name}\")."
      }
      s"the checkpoint has clocks further ahead than max_ahead allows, and max_ahead does not take them back: ${each.mkString(" ")}"
    }
  }

  private def clockAhead(origin: PlanOrigin, entry: WatermarkEntry, nowMillis: Long): Option[String] =
    for {
      ahead <- origin.rules.maxAheadMillis
      state <- entry.origins.get(origin.name)
      latest <- (state.splits.largest ++ state.watermark.millis).maxOption
      if latest > nowMillis && latest - nowMillis > ahead - origin.rules.delayMillis
    } yield {
      val split = state.splits.withClock(latest).map(state.splits.name)
      val of = split.filter(_.nonEmpty).fold("")(name => s"split '${SplitNameTable.show(name)}' of ")
      s"$of'${origin.name}' is at ${Instant.ofEpochMilli(latest)}"
    }
}
