package io.tidemark.core

/** What one batch works with: all that [[Propagation]] needs beside the plan.
  *
  * @param origins each origin's watermark
  * @param unionFloors what each union's column had already reached
  * @param carried the watermark of each carried column as it leaves its operator
  */
final case class Decision(
    origins: Map[OriginName, Watermark],
    unionFloors: Map[UnionSlot, Watermark],
    carried: Map[CarriedSlot, Watermark]) {
  def origin(name: OriginName): Watermark = origins.getOrElse(name, Watermark.Unknown)
  def unionFloor(slot: UnionSlot): Watermark = unionFloors.getOrElse(slot, Watermark.Unknown)
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
  * @param clock its largest event time minus the delay; never goes back
  * @param maxEventTimeMillis the largest event time seen so far (floor, ms since the epoch)
  */
final case class OriginState(clock: Watermark, maxEventTimeMillis: Option[Long])

object OriginState {
  val unheard: OriginState = OriginState(Watermark.Unknown, None)
}

/** The durable memory of a query when batch `batch` has ended: with it, and nothing else, the next batch is decided.
  *
  * @param timestampMillis the batch's processing time in Spark's offset log
  * @param decision what the batch itself worked with (the next batch judges its late rows by it)
  * @param ledgers oldest carried values that are still in state
  */
final case class Entry(
    batch: Long,
    timestampMillis: Long,
    decision: Decision,
    origins: Map[OriginName, OriginState],
    unionFloors: Map[UnionSlot, Watermark],
    carried: Map[CarriedSlot, Watermark],
    ledgers: Map[Input, Ledger]) {

  /** This entry as the memory of a later batch that was run without Tidemark in between: nothing goes back behind
    * `floor`, what Spark's own log says of that later batch.
    */
  def raisedTo(floor: Entry): Entry = floor.copy(
    decision = decide.copy(origins = Entry.later(decide.origins, floor.decision.origins)),
    origins = (origins.keySet ++ floor.origins.keySet).map { name =>
      val (a, b) = (origins.getOrElse(name, OriginState.unheard), floor.origins.getOrElse(name, OriginState.unheard))
      name -> OriginState(a.clock.atLeast(b.clock), a.maxEventTimeMillis)
    }.toMap,
    unionFloors = unionFloors,
    carried = carried,
    ledgers = ledgers)

  /** With the origins that are not remembered here, because they are new to the plan, at what `floor` has for them. */
  def withOriginsOf(floor: Entry): Entry = copy(
    decision = decision.copy(origins = floor.decision.origins ++ decision.origins),
    origins = floor.origins ++ origins)

  /** What the next batch works with. */
  def decide: Decision = Decision(origins.map { case (name, state) => name -> state.clock }, unionFloors, carried)
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
    val states = next.origins.map { case (name, watermark) => name -> OriginState(watermark, None) }
    Entry(batch, 0L, Decision.floor(names, previous), states, Map.empty, Map.empty, Map.empty)
  }
}
