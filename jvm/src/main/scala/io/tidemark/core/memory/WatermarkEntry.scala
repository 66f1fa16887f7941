package io.tidemark.core.memory

import io.tidemark.core.{Input, OriginName, Watermark}
import io.tidemark.core.plan.{Decision, Floors}
import io.tidemark.core.splits.Splits

/** The durable memory of a query when batch `batch` has ended. The next batch is decided from it and from nothing else.
  *
  * @param timestampMillis the batch's processing time in Spark's offset log
  * @param endMillis the time when it ended; never before an earlier end, whatever the machine's clock says
  * @param decision what the batch itself worked with (the next batch judges its late rows by it)
  * @param floors what operators have reached
  * @param ledgers oldest carried values that are still in state
  * @param outputs how far the query's output was, by the name of each note: location of the mark log, writer and column
  * @param correction the last change that a person has made to this entry or an earlier one
  * @param reason why nothing came out when the batch had ended, for people who read the log
  */
final case class WatermarkEntry(
    batch: Long,
    timestampMillis: Long,
    endMillis: Long,
    decision: Decision,
    origins: Map[OriginName, OriginState],
    floors: Floors,
    ledgers: Map[Input, CarriedMinima],
    outputs: Map[String, Watermark] = Map.empty,
    correction: Option[Correction] = None,
    reason: Option[ReasonText] = None) {

  /** What counts of Spark's own watermark of the query (ms) after this entry. */
  def countsOf(sparkMillis: Long): Long = correction.fold(sparkMillis)(_.counts(sparkMillis))

  /** The watermark of the whole query for the next batch (ms), as Spark's own would be. */
  def sparkMillis: Long = standing.least(origins.keys).sparkMillis

  /** How many splits all origins have together. */
  def splits: Int = origins.valuesIterator.map(_.splits.size).sum

  /** The same entry for any thread: its splits never change. */
  def detached: WatermarkEntry = copy(origins = origins.map { case (name, state) =>
    name -> state.copy(splits = state.splits.detached)
  })

  /** This entry as the memory of a later batch that ran without Tidemark. No watermark is behind `floor`, which is what
    * Spark's own log has of that batch. The watermarks that judge the first rows are those with no input idle, because an
    * input that is idle here may have rows then.
    */
  def raisedTo(floor: WatermarkEntry): WatermarkEntry = floor.copy(
    endMillis = endMillis,
    decision = standing.copy(origins = WatermarkEntry.later(standing.origins, floor.decision.origins).map {
      case (name, at) =>
        name -> at.active
    }),
    origins = (origins.keySet ++ floor.origins.keySet).map { name =>
      val (a, b) = (origins.getOrElse(name, OriginState.initial), floor.origins.getOrElse(name, OriginState.initial))
      name -> a.copy(splits = a.splits.atLeast(b.watermark))
    }.toMap,
    floors = floors,
    ledgers = ledgers,
    correction = correction)

  /** Whether this is the entry of the batch in Spark's log that has its number.
    * @param begunAtMillis when Spark's log says that the batch began; `None` if it does not have the batch. An entry with
    *   another time is stale: it belongs to another query, or stock Spark has run its batch again
    */
  def isOf(begunAtMillis: Option[Long]): Boolean = begunAtMillis.forall(_ == timestampMillis)

  /** Whether both are entries of one batch, which was decided in the same way: what two runs of it have written. */
  def isAlternativeTo(that: WatermarkEntry): Boolean = {
    def splitBy(entry: WatermarkEntry) = entry.origins.map { case (name, state) => name -> state.splitBy }
    batch == that.batch && timestampMillis == that.timestampMillis && decision == that.decision &&
    splitBy(this) == splitBy(that)
  }

  /** This entry for a query that was stopped until `nowMillis`. The time in between does not count as silence. */
  def listeningFrom(nowMillis: Long): WatermarkEntry =
    if (nowMillis <= endMillis) this else copy(endMillis = nowMillis).notListening(nowMillis - endMillis)

  /** The query did not run for this long before the end of this entry. */
  def notListening(missedMillis: Long): WatermarkEntry = copy(origins = origins.map { case (name, state) =>
    name -> state.copy(
      splits = state.splits.activeLater(missedMillis, endMillis),
      uncounted = state.uncounted.moving(state.splits, missedMillis, endMillis),
      sinceMillis = state.sinceMillis.map(since => math.max(since, math.min(since + missedMillis, endMillis))))
  })

  /** With the origins that are new to the plan, at what `floor` has for them. */
  def withOriginsOf(floor: WatermarkEntry): WatermarkEntry = copy(
    decision = decision.copy(origins = floor.decision.origins ++ decision.origins),
    origins = floor.origins ++ origins)

  /** With the origins as the plan declares them now. An origin with another `split_by` keeps its watermark and loses its
    * splits, which would hold it forever. Without an idle time no split is idle.
    */
  def fitting(rules: Map[OriginName, OriginRules]): WatermarkEntry = copy(origins = origins.map { case (name, state) =>
    name -> rules.get(name).fold(state) { wanted =>
      if (wanted.splitBy != state.splitBy)
        OriginState(Splits.none.atLeast(state.watermark), state.maxEventTimeMillis)
      else if (wanted.idleAfterMillis.isEmpty)
        LeftOutWriters.of(
          state.copy(splits = state.splits.allAwake(wanted.onReturn), silent = false),
          wanted,
          timestampMillis)
      else state
    }
  })

  /** With one watermark for these origins, the least of theirs, because it is unknown which of them had reached more.
    * Their splits are forgotten.
    */
  def leveled(alike: Set[OriginName]): WatermarkEntry = {
    def least(watermark: OriginName => Watermark) = alike.toSeq.map(watermark(_).active).reduce(_ coalesce _)
    val (judging, reached) =
      (least(decision.origin), least(origins.get(_).fold[Watermark](Watermark.Unknown)(_.watermark)))
    copy(
      decision = decision.copy(origins = decision.origins ++ alike.map(_ -> judging)),
      origins = origins ++ alike.map(_ -> OriginState.reached(reached)))
  }

  /** What the next batch works with if it is decided at this moment. */
  def decide(at: BatchStart, rules: Map[OriginName, OriginRules]): Decision = {
    decision { case (name, state) => rules.get(name).fold(state.watermark)(state.watermarkAt(timeOf(at, name), _)) }
  }

  /** The splits of an origin if no further split becomes idle. */
  def splitsOf(name: OriginName): Splits = origins.get(name).fold(Splits.none)(_.splits)

  /** Its splits in a batch that is decided at this moment. */
  def splitsAt(at: BatchStart, name: OriginName, rules: Map[OriginName, OriginRules]): Splits =
    (origins.get(name), rules.get(name)) match {
      case (Some(state), Some(wanted)) => state.splitsAt(timeOf(at, name), wanted)
      case _ => splitsOf(name)
    }

  def timeOf(at: BatchStart, name: OriginName): OriginState.Time =
    OriginState.Time(
      nowOf(at),
      timestampMillis,
      origins.get(name).fold(at.unread.get(name))(_.unread(at.unread.get(name))))

  /** The time (ms) up to which it is known, at this moment, that an origin had no rows beside those of this entry.
    * @param before the same, as it was known before
    */
  def foundUntil(at: BatchStart, before: Map[OriginName, Long]): Map[OriginName, Long] =
    before ++ origins.flatMap { case (name, state) =>
      (state.foundUntil(timeOf(at, name)) ++ before.get(name)).maxOption.map(name -> _)
    }

  /** Time does not go back here, even if the machine's clock does. */
  def nowOf(at: BatchStart): Long = math.max(at.millis, endMillis)

  /** What the next batch works with if no further split becomes idle until then. */
  def standing: Decision = decision { case (_, state) => state.watermark }

  private def decision(watermark: ((OriginName, OriginState)) => Watermark): Decision =
    Decision(origins.map { case (name, state) => name -> watermark((name, state)) }, floors)
}

object WatermarkEntry {

  private def later[K](a: Map[K, Watermark], b: Map[K, Watermark]): Map[K, Watermark] =
    b.foldLeft(a) { case (all, (key, at)) => all.updated(key, all.getOrElse(key, Watermark.Unknown).atLeast(at)) }

  /** Before the first batch, or on a checkpoint that Spark alone has written so far.
    *
    * @param previous the query's watermark in the last batch, ms (0: none); late rows are judged by it
    * @param current the query's watermark for the next batch, ms (0: none); a floor for every origin
    */
  def initial(names: Iterable[OriginName], batch: Long, previous: Long, current: Long): WatermarkEntry = {
    val next = Decision.floor(names, current)
    val states = next.origins.map { case (name, watermark) => name -> OriginState.reached(watermark) }
    WatermarkEntry(batch, 0L, Long.MinValue, Decision.floor(names, previous), states, Floors.none, Map.empty)
  }
}
