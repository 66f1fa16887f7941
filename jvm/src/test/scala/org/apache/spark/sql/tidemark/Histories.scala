package org.apache.spark.sql.tidemark

import java.time.{Instant, LocalDateTime, ZoneOffset}

import scala.util.Random

/** Pseudo-random histories of one stream: the same on every run, with rows out of order and rows that are late. */
object Histories {

  /** A row: an id, and its event time in seconds since the epoch, if it has any. */
  type Event = (Int, Option[Long])

  /** What a stream brings, step by step. */
  type History = Seq[Seq[Event]]

  val Noon: Instant = LocalDateTime.of(2024, 3, 1, 12, 0).toInstant(ZoneOffset.UTC)

  /** Event time goes on by eleven minutes a step; rows are up to eight minutes ahead and up to three quarters of an hour behind. */
  def wandering(seed: Int, from: Instant = Noon, steps: Int = 4, rows: Int = 7): History = {
    val random = new Random(seed)
    Seq.tabulate(steps) { step =>
      Seq.fill(rows) {
        val behind = if (random.nextInt(3) == 0) 45 else 10
        val minutes = step * 11 + random.nextInt(8 + behind) - behind
        (random.nextInt(4), Some(from.getEpochSecond + minutes * 60L + random.nextInt(60)))
      }
    }
  }

  /** The same with some times missing. */
  def withNulls(history: History): History =
    history.zipWithIndex.map { case (events, step) =>
      events.zipWithIndex.map { case ((id, time), row) => (id, time.filterNot(_ => (row + step) % 3 == 0)) }
    }
}
