package io.tidemark.core.history

import io.tidemark.core.OriginName

/** What the watermarks of a run have been, batch by batch, in bounded memory. Immutable, and a batch costs the same however
  * long the run is.
  *
  * It keeps one moment of each `stride` batches: the one with the most late rows, or else with the most rows in state, or else
  * the latest. When it is full, the same rule keeps one of each two neighbours, and the stride doubles. So at most
  * [[History.MostMoments]] moments span a run of any length, equally far apart.
  *
  * @param names the inputs that it has numbers of, at most [[History.MostInputs]]
  * @param leftOut how many inputs the query has beyond those
  * @param batches how many batches it has been fed
  */
final class History private (
    val names: IndexedSeq[OriginName],
    val leftOut: Int,
    val batches: Long,
    stride: Long,
    kept: Vector[Moment],
    always: Option[History.Always]) {
  import History._

  /** In the order of time. The first and the latest are among them, and those with the most late rows and the most rows in
    * state.
    */
  def moments: Seq[Moment] = (kept ++ always.toSeq.flatMap(_.all)).distinctBy(_.batch).sortBy(_.batch)

  /** The same after another batch. If a clock was set back, the batch counts as of the time of the one before. */
  def after(moment: Moment): History = {
    require(moment.size == names.size, s"${moment.size} inputs, not ${names.size}")
    val now = moment.notBefore(always.fold(Long.MinValue)(_.latest.timeMillis))
    // The block that this batch belongs to has begun, or begins with it.
    val blocks = if (batches % stride == 0) kept :+ now else kept.init :+ better(kept.last, now)
    val isFull = blocks.size > MostBlocks
    new History(
      names,
      leftOut,
      batches + 1,
      if (isFull) stride * 2 else stride,
      if (isFull) blocks.grouped(2).map(_.reduce(better)).toVector else blocks,
      Some(always.fold(Always(now, now, now, now))(_.and(now))))
  }
}

object History {
  val MostMoments: Int = 512
  val MostInputs: Int = 32

  // Beside them stand the few that stay always.
  private val MostBlocks = MostMoments - 4

  /** Before the first batch. */
  def of(names: Seq[OriginName]): History =
    new History(names.take(MostInputs).toIndexedSeq, math.max(0, names.size - MostInputs), 0L, 1L, Vector.empty, None)

  private final case class Always(first: Moment, mostLate: Moment, mostState: Moment, latest: Moment) {
    def all: Seq[Moment] = Seq(first, mostLate, mostState, latest)

    def and(now: Moment): Always = Always(
      first,
      if (now.lateRows > mostLate.lateRows) now else mostLate,
      if (now.stateRows > mostState.stateRows) now else mostState,
      now)
  }

  private def better(earlier: Moment, later: Moment): Moment =
    if (Ordering[(Long, Long)].gt((earlier.lateRows, earlier.stateRows), (later.lateRows, later.stateRows))) earlier
    else later
}
