package io.tidemark.core

import scala.annotation.tailrec

/** What a batch has seen.
  *
  * @param newest largest event time (ms) and delay (ms) of every origin that had rows
  * @param noted carried values of the rows that each input took in, by bucket
  */
final case class Observation(
    newest: Map[OriginName, Observation.Newest],
    noted: Map[Input, Ledger])

object Observation {
  final case class Newest(maxEventTimeMillis: Long, delayMillis: Long)

  val nothing: Observation = Observation(Map.empty, Map.empty)

  /** Whether batches that see nothing would let an operator go on, though none goes on in the next one: a carried column
    * leaves its operator only in the batch after the one in which it has come in.
    */
  @tailrec def letsGoOn(shape: Shape, before: Entry, levels: Levels): Boolean =
    levels.inputs.values.exists(_.carried.nonEmpty) && {
      val after = observe(before, before.batch + 1, before.timestampMillis, before.decide, levels, nothing)
      after.decide != before.decide && {
        val next = Propagation.levels(shape, after.decide)
        next.inputs.keys.exists(input => next.progress(input.operator) != levels.progress(input.operator)) ||
        letsGoOn(shape, after, next)
      }
    }

  /** The memory after a batch: a function of the memory before it, what it worked with, and what it saw. */
  def observe(
      before: Entry,
      batch: Long,
      timestampMillis: Long,
      decision: Decision,
      levels: Levels,
      seen: Observation): Entry = {
    val ledgers = levels.inputs.collect {
      case (input, at) if at.keepsLedger =>
        val all = before.ledgers.getOrElse(input, Ledger.empty).add(seen.noted.getOrElse(input, Ledger.empty))
        input -> at.evicted.fold(all)(bound => all.evict(bound.watermark))
    }
    Entry(
      batch,
      timestampMillis,
      decision,
      clocks(before.origins, seen.newest),
      before.unionFloors ++ levels.unions.map { case (slot, at) =>
        slot -> at.atLeast(before.unionFloors.getOrElse(slot, Watermark.Unknown))
      },
      carried(decision, levels, ledgers),
      ledgers)
  }

  private def clocks(
      before: Map[OriginName, OriginState],
      newest: Map[OriginName, Newest]): Map[OriginName, OriginState] =
    newest.foldLeft(before) { case (all, (name, seen)) =>
      val state = all.getOrElse(name, OriginState.unheard)
      val clock = Watermark.At(seen.maxEventTimeMillis - seen.delayMillis)
      val largest = state.maxEventTimeMillis.fold(seen.maxEventTimeMillis)(math.max(_, seen.maxEventTimeMillis))
      all.updated(name, OriginState(clock.atLeast(state.clock), Some(largest)))
    }

  /** A carried column must not pass the oldest value in state, nor what came in with this batch: a row that was on time
    * in this batch may stay in state and come out in any later one.
    */
  private def carried(
      decision: Decision,
      levels: Levels,
      ledgers: Map[Input, Ledger]): Map[CarriedSlot, Watermark] =
    for {
      (input, at) <- levels.inputs
      (in, index) <- at.carried.zipWithIndex
    } yield {
      val slot = CarriedSlot(input, index)
      val inState =
        ledgers.get(input).flatMap(_.oldest(index)).fold[Watermark](Watermark.Idle(None))(v => Watermark.At(v - 1))
      slot -> in.watermark.coalesce(inState).atLeast(decision.carriedColumn(slot))
    }
}
