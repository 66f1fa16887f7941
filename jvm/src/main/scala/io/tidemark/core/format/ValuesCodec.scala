package io.tidemark.core.format

import io.tidemark.core.{CarriedSlot, Input, OperatorId, OriginName, Side, UnionSlot, Watermark}
import io.tidemark.core.bytes.{ByteReader, ByteWriter, Damaged}

/** The bytes of names, of watermarks, and of maps of watermarks, of which the sections of an entry are made. */
private[core] object ValuesCodec {
  def originName(w: ByteWriter, name: OriginName): Unit = {
    w.text(name.key); w.unsigned(name.ordinal.toLong)
  }
  def readOriginName(r: ByteReader): OriginName = OriginName(r.text(), r.unsigned().toInt)

  def watermark(w: ByteWriter, at: Watermark): Unit = at match {
    case Watermark.Unknown => w.unsigned(0)
    case Watermark.Idle(reached) => w.unsigned(1); w.option(reached)
    case Watermark.At(millis) => w.unsigned(2); w.signed(millis)
  }
  def readWatermark(r: ByteReader): Watermark = r.unsigned().toInt match {
    case 0 => Watermark.Unknown
    case 1 => Watermark.Idle(r.option())
    case 2 => Watermark.At(r.signed())
    case other => throw new Damaged(s"it has a watermark of kind $other")
  }

  def input(w: ByteWriter, at: Input): Unit = {
    w.unsigned(at.operator.value)
    w.unsigned(if (at.side == Side.Left) 0L else 1L)
  }
  def readInput(r: ByteReader): Input =
    Input(OperatorId(r.unsigned()), if (r.unsigned() == 0L) Side.Left else Side.Right)

  def unions(w: ByteWriter, all: Map[UnionSlot, Watermark]): Unit =
    w.seq(all.toSeq) { case (slot, at) =>
      w.unsigned(slot.union.toLong); w.unsigned(slot.position.toLong); watermark(w, at)
    }
  def readUnions(r: ByteReader): Map[UnionSlot, Watermark] =
    r.seq(UnionSlot(r.unsigned().toInt, r.unsigned().toInt) -> readWatermark(r)).toMap

  def sides(w: ByteWriter, all: Map[Input, Watermark]): Unit =
    w.seq(all.toSeq) { case (at, reached) => input(w, at); watermark(w, reached) }
  def readSides(r: ByteReader): Map[Input, Watermark] = r.seq(readInput(r) -> readWatermark(r)).toMap

  def carried(w: ByteWriter, all: Map[CarriedSlot, Watermark]): Unit =
    w.seq(all.toSeq) { case (slot, at) => input(w, slot.input); w.unsigned(slot.index.toLong); watermark(w, at) }
  def readCarried(r: ByteReader): Map[CarriedSlot, Watermark] =
    r.seq(CarriedSlot(readInput(r), r.unsigned().toInt) -> readWatermark(r)).toMap
}
