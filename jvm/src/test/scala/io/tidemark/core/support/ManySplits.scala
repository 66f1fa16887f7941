package io.tidemark.core.support

import scala.util.Random

import io.tidemark.core.OriginName
import io.tidemark.core.memory.{OriginState, WatermarkEntry}
import io.tidemark.core.plan.{Decision, Floors}
import io.tidemark.core.splits.{MaxEventTimes, OnReturn, SplitNameTable, Splits}

/** A query of one origin with many splits, of which some have rows in each batch. */
final class ManySplits(seed: Long, idleAfter: Option[Long] = None) {
  import ManySplits._

  private val random = new Random(seed)
  private var batch = -1L
  private var now = 1700000000000L
  private var state = OriginState(Splits.none, splitBy = Seq("device"))

  /** The entry of the next batch.
    * @param active numbers of the splits that have rows in it
    */
  def next(active: Iterable[Int]): WatermarkEntry = {
    batch += 1
    now += 1000L + random.nextInt(5000)
    val times = new MaxEventTimes
    active.foreach(split => times.observe(nameOf(split), now - random.nextInt(3600000)))
    val silent = idleAfter.fold(state.splits)(after => state.splits.idleSince(now - after, OnReturn.CatchUp))
    state = state.copy(splits = silent.observe(times, 0L, now, OnReturn.CatchUp))
    entry
  }

  /** As after a time in which the query did not run. */
  def notRunning(millis: Long): Unit = {
    now += millis
    state = state.copy(splits = state.splits.activeLater(millis, now))
  }

  def some(share: Double, of: Int): Seq[Int] = Seq.fill((of * share).toInt)(random.nextInt(of)).distinct

  /** Another input, of which everything has to be written. */
  def begunAnew(): Unit = state = OriginState(Splits.none.atLeast(state.watermark), splitBy = Seq("site"))

  def entry: WatermarkEntry = WatermarkEntry(
    batch,
    now,
    now,
    Decision.none,
    Map(OriginName("readings", 0) -> state, OriginName("events", 0) -> OriginState.initial),
    Floors.none,
    Map.empty)
}

object ManySplits {
  def nameOf(split: Int): Array[Byte] = SplitNameTable.encode(Seq(Some(s"device-$split")))
}
