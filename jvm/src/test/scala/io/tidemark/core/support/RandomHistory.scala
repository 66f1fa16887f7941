package io.tidemark.core.support

import scala.util.Random

import io.tidemark.core.OriginName
import io.tidemark.core.memory.Observation

/** Event times that arrive, batch by batch: every input has a pace, jitter, a delay and phases of silence of its own. */
private[core] final case class RandomHistory(
    delays: Map[OriginName, Long],
    batches: Seq[Map[OriginName, Seq[Long]]]) {

  def delay(name: OriginName): Long = delays.getOrElse(name, 0L)

  /** The batches, as what they let an engine see of them. */
  def observations: Seq[Observation] = batches.map { arrivals =>
    val newest = arrivals.collect {
      case (name, times) if times.nonEmpty =>
        name -> Observation.OriginObservation.whole(times.max, delay(name))
    }
    Observation(newest, Map.empty)
  }
}

private[core] object RandomHistory {

  def apply(names: Seq[OriginName], seed: Long): RandomHistory = {
    val random = new Random(seed)
    def anyOf(all: Long*): Long = all(random.nextInt(all.size))
    // Some begin before the epoch, where Spark sees no watermark at all.
    val start = anyOf(1000, 1000, 1000, 0, -60)
    val count = 4 + random.nextInt(10)
    val delays = names.map(_ -> anyOf(0, 3, 10, 25)).toMap
    val lines = names.map { name =>
      val (offset, pace, jitter) = (anyOf(-40, 0, 0, 15), anyOf(0, 4, 10, 30), 1 + anyOf(0, 5, 20, 40).toInt)
      var silent = false
      name -> (0 until count).map { batch =>
        if (random.nextInt(4) == 0) silent = !silent
        val rows = if (silent) 0 else random.nextInt(4)
        Seq.fill(rows)(start + offset + pace * batch - random.nextInt(jitter))
      }
    }
    RandomHistory(delays, (0 until count).map(batch => lines.map { case (name, all) => name -> all(batch) }.toMap))
  }
}
