package io.tidemark.oracle

/** An input (0: the only or left one, 1: the right one) of a node of the query. */
final case class MarkId(node: Int, side: Int)

/** A row in state; two that are equal are two. `time` is what it is judged by (µs). */
final class Kept(val row: Row, val time: Long)

/** A watermark (ms); `None` before there is one.
  *
  * @param isNone whether there never will be one: no origin is below
  */
final case class Mark(millis: Option[Long], isIdle: Boolean = false, isNone: Boolean = false) {
  def spark: Long = millis.fold(0L)(math.max(_, 0L))
  def plus(more: Long): Mark = copy(millis = millis.map(_ + more))

  /** Of two inputs: who is idle does not count; if both are, they are idle as far as the one ahead. */
  def least(that: Mark): Mark =
    if (isNone) that
    else if (that.isNone) this
    else if (isIdle && that.isIdle) Mark((millis ++ that.millis).maxOption, isIdle = true)
    else if (isIdle) that
    else if (that.isIdle) this
    else earlier(that)

  def earlier(that: Mark): Mark =
    if (millis.isEmpty) this
    else if (that.millis.isEmpty) that
    else if (millis.get <= that.millis.get) this
    else that

  def orElse(that: Mark): Mark = if (isNone) that else this

  def atLeast(floor: Option[Mark]): Mark = copy(millis = (millis ++ floor.flatMap(_.millis)).maxOption)
}
object Mark {
  val unknown: Mark = Mark(None)
  val none: Mark = Mark(None, isNone = true)
}

/** All that one batch hands to the next.
  *
  * @param sources what is known of each origin
  * @param begun when the first batch ended, @param last when the last one began, and @param ended when it ended, or a run
  *   began after it (ms)
  * @param own each operator's watermarks in the batch, by which the next one's rows are late
  * @param progress those by which it is asked whether an operator would go on
  * @param canGoOn whether batches without data may run: not before the first one of a run
  */
final case class Memory(
    sources: Map[Int, Source] = Map.empty,
    begun: Option[Long] = None,
    last: Long = 0L,
    ended: Long = 0L,
    floors: Map[(Int, Int), Mark] = Map.empty,
    carried: Map[(MarkId, Int), Mark] = Map.empty,
    own: Map[MarkId, Mark] = Map.empty,
    kept: Map[MarkId, Vector[Kept]] = Map.empty,
    matched: Set[Kept] = Set.empty,
    progress: Map[Int, Long] = Map.empty,
    canGoOn: Boolean = false) {

  /** A time in which the query did not run is not silence. */
  def listeningFrom(now: Long): Memory = {
    def later(time: Long) = math.min(time + now - ended, now)
    copy(
      sources = sources.view.mapValues(_.shifted(later).copy(found = None)).toMap,
      begun = begun.map(later),
      ended = now)
  }

  /** The query has looked at its sources, and found no rows. */
  def lookedAt(now: Long): Memory = copy(sources = sources.view.mapValues(_.lookedAt(now)).toMap)

  /** What watermarks depend on. */
  def timeless: (Any, Any, Any) = (sources.view.mapValues(_.reached).toMap, floors, carried)
}
