package io.tidemark.core.format

import scala.collection.mutable

import io.tidemark.core.bytes.{ByteReader, ByteWriter, Damaged}
import io.tidemark.core.splits.{Coalescer, Splits, SplitState}

/** The states of splits, one after the other, in about 6 bytes each:
  *
  * {{{
  * split  =  code  [lastActive]  [clock]
  * code   =  number << 3 | hasClock << 2 | state
  * }}}
  *
  * `number` is the position of
  * the split's last active time among the times written before it. The next free number means that a new time follows,
  * as the difference to the newest one. A clock is written as the difference to the clock before.
  */
private[core] object SplitStateCodec {
  private val HasClock = 4
  private val StateMask = 3
  private val NumberShift = 3

  final class Writer(out: ByteWriter, splits: Splits) {
    // Times are numbered from 0 in the order of their first use. There are few: one for each batch.
    private val numbers = mutable.LongMap.empty[Int]
    private var clock = 0L
    private var newest = 0L

    def write(split: Int): Unit = {
      val held = splits.clockOrNone(split)
      val lastActive = splits.lastActive(split)
      val known = numbers.size
      val number = numbers.getOrElseUpdate(lastActive, known)
      val hasClock = if (held == Coalescer.NoClock) 0 else HasClock
      out.unsigned(number.toLong << NumberShift | hasClock | splits.state(split).code)
      if (number == known) {
        out.signed(lastActive - newest)
        newest = lastActive
      }
      if (held != Coalescer.NoClock) {
        out.signed(held - clock)
        clock = held
      }
    }
  }

  final class Reader(in: ByteReader, splits: SplitsBuilder) {
    private val times = mutable.ArrayBuffer.empty[Long]
    private var clock = 0L

    def read(split: Int): Unit = {
      val code = in.unsigned()
      val state = (code & StateMask).toByte
      if (!SplitState.isCode(state.toLong)) throw new Damaged(s"it has a split in state $state")
      val number = code >>> NumberShift
      if (number > times.size) throw new Damaged("it has a split without a last active time")
      if (number == times.size) times += times.lastOption.getOrElse(0L) + in.signed()
      val hasClock = (code & HasClock) != 0
      if (hasClock) clock += in.signed()
      splits.set(split, state, if (hasClock) clock else Coalescer.NoClock, times(number.toInt))
    }
  }
}
