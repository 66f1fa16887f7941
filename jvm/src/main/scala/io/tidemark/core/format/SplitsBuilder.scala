package io.tidemark.core.format

import java.util.Arrays

import io.tidemark.core.Watermark
import io.tidemark.core.splits.{Coalescer, SplitNameTable, Splits}

/** Splits that are being read back; the last entry that has a split decides its state. */
private[core] final class SplitsBuilder {
  val names = new SplitNameTable
  private var clocks = new Array[Long](8)
  private var activeAt = new Array[Long](8)
  private var states = new Array[Byte](8)

  def set(split: Int, state: Byte, clock: Long, lastActiveMillis: Long): Unit = {
    if (split >= clocks.length) {
      val capacity = math.max(split + 1, clocks.length + (clocks.length >> 1))
      clocks = Arrays.copyOf(clocks, capacity)
      activeAt = Arrays.copyOf(activeAt, capacity)
      states = Arrays.copyOf(states, capacity)
    }
    clocks(split) = clock
    activeAt(split) = lastActiveMillis
    states(split) = state
  }

  /** Makes the last active times of all splits later. */
  def activeLater(moreMillis: Long): Unit = {
    var split = 0
    while (split < names.size) {
      activeAt(split) += moreMillis
      split += 1
    }
  }

  /** The splits together with the watermark that they had reached. */
  def splits(reached: Watermark): Splits =
    Splits.of(names.copy(), Coalescer.restored(names.size, clocks, activeAt, states)).atLeast(reached)
}
