package io.tidemark.core.format

import io.tidemark.core.bytes.{ByteReader, ByteWriter, Damaged}
import io.tidemark.core.splits.{Coalescer, SplitChanges, Splits, SplitState}

/** The bytes of an origin's splits in an entry: all of them, or those that differ from the entry of the batch before. */
private[core] object SplitsCodec {

  def write(w: ByteWriter, all: Splits): Unit = {
    w.unsigned(all.size.toLong)
    var split = 0
    while (split < all.size) {
      all.writeName(w, split)
      w.unsigned(all.state(split).code.toLong)
      // As an option, without making one.
      val clock = all.clockOrNone(split)
      w.unsigned(if (clock == Coalescer.NoClock) 0L else 1L)
      if (clock != Coalescer.NoClock) w.signed(clock)
      w.signed(all.lastActive(split))
      split += 1
    }
  }

  def read(r: ByteReader, into: SplitsBuilder): Unit = (0 until r.count()).foreach { split =>
    val name = r.slice(r.unsigned().toInt).restRaw()
    into.names.addNew(name, 0, name.length)
    into.set(split, readState(r), r.option().getOrElse(Coalescer.NoClock), r.signed())
  }

  private def readState(r: ByteReader): Byte = {
    val state = r.unsigned()
    if (!SplitState.isCode(state)) throw new Damaged(s"it has a split in state $state")
    state.toByte
  }

  def writeChanges(w: ByteWriter, splits: Splits, changes: SplitChanges): Unit = {
    w.unsigned(changes.size.toLong)
    splits.writeNames(w, changes.size)
    w.unsigned(changes.changed.length.toLong)
    val states = new SplitStateCodec.Writer(w, splits)
    var next = 0
    changes.changed.foreach { split =>
      w.unsigned((split - next).toLong)
      states.write(split)
      next = split + 1
    }
  }

  def readChanges(r: ByteReader, into: SplitsBuilder): Unit = {
    if (r.unsigned() != into.names.size) throw new Damaged("it continues from a different number of splits")
    into.names.read(r)
    val states = new SplitStateCodec.Reader(r, into)
    var next = 0L
    (0 until r.count()).foreach { _ =>
      next += r.unsigned()
      if (next < 0 || next >= into.names.size) throw new Damaged("it changes a split that does not exist")
      states.read(next.toInt)
      next += 1
    }
  }
}
