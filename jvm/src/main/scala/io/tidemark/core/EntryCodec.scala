package io.tidemark.core

import java.nio.charset.StandardCharsets.US_ASCII
import java.util.zip.CRC32C

import scala.collection.immutable.TreeMap

/** The bytes of an [[Entry]] in the checkpoint, format version 1.
  *
  * {{{
  * "TIDEMARK"  version  section*  0  crc32c
  * section  =  tag  length  payload
  * }}}
  * Numbers are varints, signed ones zigzag; the checksum (4 bytes, big endian) covers all bytes before it. A reader
  * skips sections whose tag is [[FirstOptionalTag]] or above and does not guess about any other that it does not know,
  * so that later versions can add what older ones may ignore.
  */
object EntryCodec {
  val Version: Int = 1
  val FirstOptionalTag: Int = 64

  private val Magic = "TIDEMARK".getBytes(US_ASCII)
  private val ChecksumBytes = 4

  private object Tag {
    val End = 0
    val Batch = 1
    val Decision = 2
    val Origins = 3
    val Unions = 4
    val Carried = 5
    val Ledgers = 6
    val Sides = 7
  }

  def encode(entry: Entry): Array[Byte] = {
    val out = new ByteWriter
    out.raw(Magic)
    out.unsigned(Version.toLong)
    section(out, Tag.Batch) { w =>
      w.signed(entry.batch)
      w.signed(entry.timestampMillis)
      w.signed(entry.endMillis)
    }
    section(out, Tag.Decision) { w =>
      w.seq(entry.decision.origins.toSeq) { case (name, at) => originName(w, name); watermark(w, at) }
      unions(w, entry.decision.unionFloors)
      carried(w, entry.decision.carried)
      sides(w, entry.decision.inputFloors)
    }
    section(out, Tag.Origins)(w =>
      w.seq(entry.origins.toSeq) { case (name, state) =>
        originName(w, name)
        watermark(w, state.watermark)
        w.option(state.maxEventTimeMillis)
        w.option(state.sinceMillis)
        w.unsigned(if (state.waiting) 1L else 0L)
        w.unsigned(state.farAheadRows)
        w.seq(state.splitBy)(w.text)
        splits(w, state.splits)
      })
    section(out, Tag.Unions)(unions(_, entry.unionFloors))
    section(out, Tag.Carried)(carried(_, entry.carried))
    section(out, Tag.Ledgers)(w =>
      w.seq(entry.ledgers.toSeq) { case (at, ledger) =>
        input(w, at)
        w.unsigned(ledger.widthMillis)
        w.seq(ledger.buckets.toSeq) { case (end, values) => w.signed(end); w.seq(values)(w.option) }
      })
    section(out, Tag.Sides)(sides(_, entry.inputFloors))
    out.unsigned(Tag.End.toLong)
    out.int(checksum(out.bytes))
    out.bytes
  }

  /** @throws EntryCodec.Damaged when the bytes are not exactly what `encode` wrote
    * @throws EntryCodec.Newer when a later format version wrote them
    */
  def decode(bytes: Array[Byte]): Entry = {
    if (bytes.length < Magic.length || !java.util.Arrays.equals(bytes.take(Magic.length), Magic))
      throw new Damaged("it does not begin as an entry does")
    val in = new ByteReader(bytes, Magic.length, bytes.length)
    val version = in.unsigned().toInt
    // A later version may have another checksum, so the version is judged first.
    if (version > Version) throw new Newer(version)
    if (version < 1) throw new Damaged(s"there is no format version $version")
    val end = bytes.length - ChecksumBytes
    if (end < in.position) throw new Damaged("it is cut off")
    if (new ByteReader(bytes, end, bytes.length).int() != checksum(bytes.take(end)))
      throw new Damaged("its checksum does not fit")
    read(new ByteReader(bytes, in.position, end))
  }

  private def read(in: ByteReader): Entry = {
    var entry = Entry(-1L, 0L, 0L, Decision.none, Map.empty, Map.empty, Map.empty, Map.empty)
    var tag = in.unsigned().toInt
    while (tag != Tag.End) {
      val body = in.slice(in.unsigned().toInt)
      entry = tag match {
        case Tag.Batch =>
          entry.copy(batch = body.signed(), timestampMillis = body.signed(), endMillis = body.signed())
        case Tag.Decision =>
          val origins = body.seq(readOriginName(body) -> readWatermark(body)).toMap
          entry.copy(decision = Decision(origins, readUnions(body), readCarried(body), readSides(body)))
        case Tag.Origins =>
          val origins = body.seq(readOriginName(body) -> readOrigin(body))
          entry.copy(origins = origins.toMap)
        case Tag.Unions => entry.copy(unionFloors = readUnions(body))
        case Tag.Carried => entry.copy(carried = readCarried(body))
        case Tag.Ledgers =>
          val ledgers = body.seq {
            val at = readInput(body)
            val width = body.unsigned()
            at -> Ledger(width, TreeMap.from(body.seq(body.signed() -> body.seq(body.option()).toVector)))
          }
          entry.copy(ledgers = ledgers.toMap)
        case Tag.Sides => entry.copy(inputFloors = readSides(body))
        case optional if optional >= FirstOptionalTag => entry
        case unknown => throw new Damaged(s"it has a section $unknown that format version $Version does not have")
      }
      tag = in.unsigned().toInt
    }
    if (entry.batch < 0) throw new Damaged("it does not say which batch it is of")
    entry
  }

  private def section(out: ByteWriter, tag: Int)(write: ByteWriter => Unit): Unit = {
    val body = new ByteWriter
    write(body)
    out.unsigned(tag.toLong)
    out.unsigned(body.bytes.length.toLong)
    out.raw(body.bytes)
  }

  private def originName(w: ByteWriter, name: OriginName): Unit = { w.text(name.key); w.unsigned(name.ordinal.toLong) }
  private def readOriginName(r: ByteReader): OriginName = OriginName(r.text(), r.unsigned().toInt)

  private def watermark(w: ByteWriter, at: Watermark): Unit = at match {
    case Watermark.Unknown => w.unsigned(0)
    case Watermark.Idle(reached) => w.unsigned(1); w.option(reached)
    case Watermark.At(millis) => w.unsigned(2); w.signed(millis)
  }
  private def readWatermark(r: ByteReader): Watermark = r.unsigned().toInt match {
    case 0 => Watermark.Unknown
    case 1 => Watermark.Idle(r.option())
    case 2 => Watermark.At(r.signed())
    case other => throw new Damaged(s"it has a watermark of kind $other")
  }

  private def readOrigin(r: ByteReader): OriginState = {
    val reached = readWatermark(r)
    val newest = r.option()
    val since = r.option()
    val waiting = r.unsigned() == 1L
    val farAhead = r.unsigned()
    val splitBy = r.seq(r.text())
    OriginState(readSplits(r, reached), newest, since, waiting, farAhead, splitBy)
  }

  private def splits(w: ByteWriter, all: Splits): Unit = {
    w.unsigned(all.size.toLong)
    var split = 0
    while (split < all.size) {
      val name = all.encodedName(split)
      w.unsigned(name.length.toLong)
      w.raw(name)
      w.unsigned(all.state(split).toLong)
      w.option(all.clock(split))
      w.signed(all.lastHeard(split))
      split += 1
    }
  }
  private def readSplits(r: ByteReader, reached: Watermark): Splits = Splits.restored(
    r.seq {
      val name = r.slice(r.unsigned().toInt).restRaw()
      Splits.Written(name, readState(r), r.option(), r.signed())
    },
    reached)
  private def readState(r: ByteReader): Byte = {
    val state = r.unsigned()
    if (state > Coalescer.CatchingUp) throw new Damaged(s"it has a split in state $state")
    state.toByte
  }

  private def input(w: ByteWriter, at: Input): Unit = {
    w.unsigned(at.operator.value)
    w.unsigned(if (at.side == Side.Left) 0L else 1L)
  }
  private def readInput(r: ByteReader): Input =
    Input(OperatorId(r.unsigned()), if (r.unsigned() == 0L) Side.Left else Side.Right)

  private def unions(w: ByteWriter, all: Map[UnionSlot, Watermark]): Unit =
    w.seq(all.toSeq) { case (slot, at) =>
      w.unsigned(slot.union.toLong); w.unsigned(slot.position.toLong); watermark(w, at)
    }
  private def readUnions(r: ByteReader): Map[UnionSlot, Watermark] =
    r.seq(UnionSlot(r.unsigned().toInt, r.unsigned().toInt) -> readWatermark(r)).toMap

  private def sides(w: ByteWriter, all: Map[Input, Watermark]): Unit =
    w.seq(all.toSeq) { case (at, reached) => input(w, at); watermark(w, reached) }
  private def readSides(r: ByteReader): Map[Input, Watermark] = r.seq(readInput(r) -> readWatermark(r)).toMap

  private def carried(w: ByteWriter, all: Map[CarriedSlot, Watermark]): Unit =
    w.seq(all.toSeq) { case (slot, at) => input(w, slot.input); w.unsigned(slot.index.toLong); watermark(w, at) }
  private def readCarried(r: ByteReader): Map[CarriedSlot, Watermark] =
    r.seq(CarriedSlot(readInput(r), r.unsigned().toInt) -> readWatermark(r)).toMap

  private def checksum(bytes: Array[Byte]): Int = {
    val crc = new CRC32C
    crc.update(bytes)
    crc.getValue.toInt
  }

  /** The bytes are not an entry, or not a whole one; `why` completes the sentence "the entry is damaged: ...". */
  final class Damaged(val why: String) extends RuntimeException(why)

  /** A later format version wrote the entry. */
  final class Newer(val version: Int) extends RuntimeException(s"format version $version")
}
