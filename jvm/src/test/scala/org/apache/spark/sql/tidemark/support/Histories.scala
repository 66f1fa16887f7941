package org.apache.spark.sql.tidemark.support

import java.time.{Instant, LocalDateTime, ZoneOffset}

import scala.util.Random

/** Pseudo-random histories of one stream: the same in every run, with rows out of order and late rows. */
object Histories {

  /** A row: an id, and its event time in seconds since the epoch, if it has any. */
  type Event = (Int, Option[Long])

  /** The rows that a stream has in each step. */
  type History = Seq[Seq[Event]]

  val Noon: Instant = LocalDateTime.of(2024, 3, 1, 12, 0).toInstant(ZoneOffset.UTC)

  /** Event time advances by eleven minutes in each step. Rows are up to 8 minutes ahead and up to 45 minutes behind. */
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

  /** The same history with some times missing. */
  def withNulls(history: History): History =
    history.zipWithIndex.map { case (events, step) =>
      events.zipWithIndex.map { case ((id, time), row) => (id, time.filterNot(_ => (row + step) % 3 == 0)) }
    }
}
