package io.tidemark.core

/** What one batch works with: all that [[Propagation]] needs beside the plan.
  *
  * @param origins each origin's watermark
  * @param unionFloors what each union's column had already reached
  * @param carried the watermark of each carried column as it leaves its operator
  * @param sideFloors what join sides had already reached that follow the other side while they are idle
  */
final case class Decision(
    origins: Map[OriginName, Watermark],
    unionFloors: Map[UnionSlot, Watermark],
    carried: Map[CarriedSlot, Watermark],
    sideFloors: Map[Input, Watermark] = Map.empty) {
  def origin(name: OriginName): Watermark = origins.getOrElse(name, Watermark.Unknown)
  def unionFloor(slot: UnionSlot): Watermark = unionFloors.getOrElse(slot, Watermark.Unknown)
  def sideFloor(input: Input): Watermark = sideFloors.getOrElse(input, Watermark.Unknown)
  def carriedColumn(slot: CarriedSlot): Watermark = carried.getOrElse(slot, Watermark.Unknown)

  /** The watermark of the query as Spark's own logs keep it: the minimum over the origins. */
  def least(names: Iterable[OriginName]): Watermark =
    names.map(origin).reduceOption(_ coalesce _).getOrElse(Watermark.Unknown)
}

object Decision {
  val none: Decision = Decision(Map.empty, Map.empty, Map.empty)

  /** Every origin at the watermark that Spark's log has for the whole query (none if that is still 0). */
  def floor(names: Iterable[OriginName], queryMillis: Long): Decision =
    if (queryMillis <= 0) none
    else none.copy(origins = names.map(_ -> (Watermark.At(queryMillis): Watermark)).toMap)
}

/** What is known of one origin when a batch has ended.
  *
  * @param splits its splits; an input that is not split has one, once it is known
  * @param maxEventTimeMillis the largest event time seen so far (floor, ms since the epoch)
  * @param sinceMillis from when on it is counted that it says nothing: the end of the query's first batch, ms
  * @param waiting whether an admission limit held rows back that were there when the batch began
  * @param farAheadRows rows whose event time was too far ahead to be believed
  */
final case class OriginState(
    splits: Splits,
    maxEventTimeMillis: Option[Long] = None,
    sinceMillis: Option[Long] = None,
    waiting: Boolean = false,
    farAheadRows: Long = 0L) {

  /** As it stands, with no split falling silent. */
  def watermark: Watermark = splits.watermark

  /** Its watermark in a batch that is decided at `nowMillis`. */
  def watermarkAt(nowMillis: Long, unread: Option[Unread], rules: OriginRules): Watermark =
    rules.idleAfterMillis match {
      case None => watermark
      case Some(_) if isBacklog(unread) => watermark
      case Some(after) if splits.size == 0 =>
        if (sinceMillis.exists(_ <= nowMillis - after))
          advanced(Watermark.Idle(watermark.millis), nowMillis, after, rules)
        else watermark
      case Some(after) =>
        advanced(awake(unread, nowMillis, rules).watermarkSince(nowMillis - after), nowMillis, after, rules)
    }

  /** Its splits in that batch. */
  def splitsAt(nowMillis: Long, unread: Option[Unread], rules: OriginRules): Splits = {
    val idle = rules.idleAfterMillis match {
      case Some(after) if !isBacklog(unread) =>
        awake(unread, nowMillis, rules).idleSince(nowMillis - after, rules.onReturn)
      case _ => splits
    }
    idle.atLeast(watermarkAt(nowMillis, unread, rules))
  }

  /** Whether rows were held back, and are being read now, of nobody knows which split: then none is silent. A source that
    * has nothing more to read has been caught up with.
    */
  private def isBacklog(unread: Option[Unread]): Boolean = waiting && unread.nonEmpty

  private def awake(unread: Option[Unread], nowMillis: Long, rules: OriginRules): Splits = unread match {
    case Some(Unread.In(some)) => splits.awake(some, nowMillis, rules.onReturn)
    case Some(Unread.Somewhere) if splits.size == 1 =>
      splits.awake(Seq(splits.encodedName(0)), nowMillis, rules.onReturn)
    case _ => splits
  }

  /** In steps: each is a batch, and there should not be one every moment because of the clock alone. */
  private def advanced(at: Watermark, nowMillis: Long, stepMillis: Long, rules: OriginRules): Watermark = at match {
    case Watermark.Idle(reached) if rules.whenIdle == WhenIdle.Advance =>
      val clock = nowMillis - rules.delayMillis
      if (reached.forall(_ <= clock - stepMillis)) Watermark.Idle(Some(clock)) else at
    case other => other
  }
}

object OriginState {
  val unheard: OriginState = OriginState(Splits.none)

  /** One that has got as far as this, nobody knows by which splits. */
  def reached(watermark: Watermark): OriginState = OriginState(Splits.none.atLeast(watermark))
}

/** The durable memory of a query when batch `batch` has ended: with it, and nothing else, the next batch is decided.
  *
  * @param timestampMillis the batch's processing time in Spark's offset log
  * @param endMillis when it ended; never before an earlier end, whatever the machine's clock says
  * @param decision what the batch itself worked with (the next batch judges its late rows by it)
  * @param ledgers oldest carried values that are still in state
  */
final case class Entry(
    batch: Long,
    timestampMillis: Long,
    endMillis: Long,
    decision: Decision,
    origins: Map[OriginName, OriginState],
    unionFloors: Map[UnionSlot, Watermark],
    carried: Map[CarriedSlot, Watermark],
    ledgers: Map[Input, Ledger],
    sideFloors: Map[Input, Watermark] = Map.empty) {

  /** This entry as the memory of a later batch that was run without Tidemark in between: nothing goes back behind
    * `floor`, what Spark's own log says of that later batch.
    */
  def raisedTo(floor: Entry): Entry = floor.copy(
    endMillis = endMillis,
    decision = standing.copy(origins = Entry.later(standing.origins, floor.decision.origins)),
    origins = (origins.keySet ++ floor.origins.keySet).map { name =>
      val (a, b) = (origins.getOrElse(name, OriginState.unheard), floor.origins.getOrElse(name, OriginState.unheard))
      name -> a.copy(splits = a.splits.atLeast(b.watermark))
    }.toMap,
    unionFloors = unionFloors,
    carried = carried,
    ledgers = ledgers,
    sideFloors = sideFloors)

  /** With the origins that are not remembered here, because they are new to the plan, at what `floor` has for them. */
  def withOriginsOf(floor: Entry): Entry = copy(
    decision = decision.copy(origins = floor.decision.origins ++ decision.origins),
    origins = floor.origins ++ origins)

  /** With every origin split as the plan splits it now. One that was split otherwise keeps what it had reached; its old
    * splits would be waited for without end.
    */
  def fitting(rules: Map[OriginName, OriginRules]): Entry = copy(origins = origins.map { case (name, state) =>
    val width = rules.get(name).fold(0)(_.width)
    val fits = state.splits.size == 0 || state.splits.name(0).size == width
    name -> (if (fits) state else state.copy(splits = Splits.none.atLeast(state.watermark)))
  })

  /** What the next batch works with when it is decided at this moment. */
  def decide(at: BatchStart, rules: Map[OriginName, OriginRules]): Decision = {
    val now = nowOf(at)
    decision { case (name, state) =>
      rules.get(name).fold(state.watermark)(state.watermarkAt(now, at.unread.get(name), _))
    }
  }

  /** A machine's clock may go back; time here does not. */
  def nowOf(at: BatchStart): Long = math.max(at.millis, endMillis)

  /** What the next batch works with if nobody falls silent until then. */
  def standing: Decision = decision { case (_, state) => state.watermark }

  private def decision(watermark: ((OriginName, OriginState)) => Watermark): Decision =
    Decision(origins.map { case (name, state) => name -> watermark((name, state)) }, unionFloors, carried, sideFloors)
}

object Entry {

  private def later[K](a: Map[K, Watermark], b: Map[K, Watermark]): Map[K, Watermark] =
    b.foldLeft(a) { case (all, (key, at)) => all.updated(key, all.getOrElse(key, Watermark.Unknown).atLeast(at)) }

  /** Before the first batch, or on a checkpoint that Spark alone has written so far.
    *
    * @param previous the query's watermark in the last batch, ms (0: none); late rows are judged by it
    * @param current the query's watermark for the next batch, ms (0: none); a floor for every origin
    */
  def initial(names: Iterable[OriginName], batch: Long, previous: Long, current: Long): Entry = {
    val next = Decision.floor(names, current)
    val states = next.origins.map { case (name, watermark) => name -> OriginState.reached(watermark) }
    Entry(batch, 0L, Long.MinValue, Decision.floor(names, previous), states, Map.empty, Map.empty, Map.empty)
  }
}
