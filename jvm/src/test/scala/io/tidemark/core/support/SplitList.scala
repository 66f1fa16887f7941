package io.tidemark.core.support

import io.tidemark.core.Watermark
import io.tidemark.core.format.SplitsBuilder
import io.tidemark.core.splits.{Coalescer, Splits, SplitState}

/** Splits from a list of them, in whatever state. */
object SplitList {
  final case class One(name: Array[Byte], state: SplitState, clock: Option[Long], lastActiveMillis: Long)

  /** These splits, with the watermark that they have reached. */
  def splits(all: Seq[One], watermark: Watermark): Splits = {
    val read = new SplitsBuilder
    all.foreach { split =>
      read.names.add(split.name)
      read.set(read.names.size - 1, split.state.code, split.clock.getOrElse(Coalescer.NoClock), split.lastActiveMillis)
    }
    read.splits(watermark)
  }
}
