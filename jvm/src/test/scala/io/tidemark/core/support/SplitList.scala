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
    all.foreach { one =>
      read.names.add(one.name)
      read.set(read.names.size - 1, one.state.code, one.clock.getOrElse(Coalescer.NoClock), one.lastActiveMillis)
    }
    read.splits(watermark)
  }
}
