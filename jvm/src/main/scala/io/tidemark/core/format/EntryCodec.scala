package io.tidemark.core.format

import scala.collection.immutable.TreeMap

import io.tidemark.core.OriginName
import io.tidemark.core.bytes.{ByteReader, ByteWriter, Damaged}
import io.tidemark.core.memory.{
  CarriedMinima,
  Correction,
  OriginSources,
  OriginState,
  ReasonText,
  Uncounted,
  WatermarkEntry
}
import io.tidemark.core.plan.{Decision, Floors}
import io.tidemark.core.splits.{SplitChanges, Splits}

/** The bytes of an [[WatermarkEntry]] in the checkpoint: [[SectionFormat]] of its parts. An entry with writers of a mark
  * log, or whose splits have all become later together, is of format version 2, because version 1 would not know what it
  * leaves out. Any other is of version 1.
  *
  * An entry has all splits of every origin. If there are many, it has those that differ from the entry of the batch
  * before.
  */
object EntryCodec {
  import ValuesCodec._

  /** An entry with this many splits, or fewer, always has all of them. */
  val MostWhole: Int = 1000

  private object Tag {
    val Batch = 1
    val Decision = 2
    val Origins = 3
    val Unions = 4
    val Carried = 5
    val Ledgers = 6
    val Sides = 7
    val Changes = 8
    val Writers = 9
    val Later = 10
    // An older version may ignore these: it notes nothing, knows no corrections, and decides nothing by the uncounted times.
    val Outputs = SectionFormat.FirstOptionalTag
    val Uncounted = SectionFormat.FirstOptionalTag + 1
    val Correction = SectionFormat.FirstOptionalTag + 2
    // An older version tells origins of the same key apart by their places alone.
    val Sources = SectionFormat.FirstOptionalTag + 3
    // Only people read it.
    val Reason = SectionFormat.FirstOptionalTag + 4
  }

  /** An entry as it was written, and the checksum of its file. */
  final case class Written(entry: WatermarkEntry, checksum: Int)

  /** @param data what to write; @param isWhole whether it can be read without the entry before it */
  final case class Encoded(data: Array[Byte], isWhole: Boolean) {
    def checksum: Int = SectionFormat.checksumOf(data)
  }

  /** An entry with the splits that have changed, if that is shorter.
    * @param before the entry of the batch before, if it can be read
    */
  def encode(entry: WatermarkEntry, before: Option[Written]): Encoded = {
    val changes = before.filter(_ => entry.splits > MostWhole).fold(Map.empty[OriginName, SplitChanges]) { before =>
      for {
        (name, state) <- entry.origins if state.splits.size > 0
        was = before.entry.origins.getOrElse(name, OriginState.initial).splits
        changed <- state.splits.changedSince(was, most = state.splits.size / 2)
      } yield name -> changed
    }
    Encoded(encode(entry, changes, before.fold(0)(_.checksum)), changes.isEmpty)
  }

  private def encode(entry: WatermarkEntry, changes: Map[OriginName, SplitChanges], before: Int): Array[Byte] = {
    val sections = Seq[(Int, ByteWriter => Unit)](
      Tag.Batch -> { w =>
        w.signed(entry.batch)
        w.signed(entry.timestampMillis)
        w.signed(entry.endMillis)
      },
      Tag.Decision -> { w =>
        w.seq(entry.decision.origins.toSeq) { case (name, at) => originName(w, name); watermark(w, at) }
        unions(w, entry.decision.floors.unions)
        carried(w, entry.decision.floors.carried)
        sides(w, entry.decision.floors.inputs)
      },
      Tag.Origins ->
        (w =>
          w.seq(entry.origins.toSeq) { case (name, state) =>
            originName(w, name)
            watermark(w, state.watermark)
            w.option(state.maxEventTimeMillis)
            w.option(state.sinceMillis)
            w.unsigned(if (state.waiting) 1L else 0L)
            w.unsigned(state.farAheadRows)
            w.seq(state.splitBy)(w.text)
            SplitsCodec.write(w, if (changes.contains(name)) Splits.none else state.splits)
          }),
      Tag.Unions -> (unions(_, entry.floors.unions)),
      Tag.Carried -> (carried(_, entry.floors.carried)),
      Tag.Ledgers ->
        (w =>
          w.seq(entry.ledgers.toSeq) { case (at, ledger) =>
            input(w, at)
            w.unsigned(ledger.widthMillis)
            w.seq(ledger.buckets.toSeq) { case (end, values) => w.signed(end); w.seq(values)(w.option) }
          }),
      Tag.Sides -> (sides(_, entry.floors.inputs)))
    val changed = Tag.Changes ->
      ((w: ByteWriter) => {
        w.int(before)
        w.seq(changes.toSeq) { case (name, changes) =>
          originName(w, name)
          SplitsCodec.writeChanges(w, entry.origins(name).splits, changes)
        }
      })
    val moved = changes.toSeq.filter(_._2.laterMillis > 0)
    val later = Tag.Later ->
      ((w: ByteWriter) =>
        w.seq(moved) { case (name, changes) =>
          originName(w, name)
          w.unsigned(changes.laterMillis)
        })
    val noted = entry.origins.filter(_._2.writers.nonEmpty)
    val writers = Tag.Writers ->
      ((w: ByteWriter) =>
        w.seq(noted.toSeq) { case (name, state) =>
          originName(w, name)
          WritersCodec.write(w, state.writers)
        })
    val outputs = Tag.Outputs ->
      ((w: ByteWriter) => w.seq(entry.outputs.toSeq.sortBy(_._1)) { case (note, at) => w.text(note); watermark(w, at) })
    val uncountedOf = entry.origins.filter(_._2.uncounted != Uncounted.none)
    val uncounted = Tag.Uncounted ->
      ((w: ByteWriter) =>
        w.seq(uncountedOf.toSeq) { case (name, state) =>
          originName(w, name)
          UncountedCodec.write(w, state.uncounted)
        })
    val reading = entry.origins.toSeq.flatMap { case (name, state) => state.sources.map(name -> _) }
    val sources = Tag.Sources ->
      ((w: ByteWriter) =>
        w.seq(reading) { case (name, sources) =>
          originName(w, name)
          w.unsigned(if (sources.areNames) 1L else 0L)
          w.seq(sources.of)(w.text)
        })
    // What all splits have in common comes before what each of them has.
    val all = sections ++ Option.when(moved.nonEmpty)(later) ++ Option.when(changes.nonEmpty)(changed) ++
      Option.when(noted.nonEmpty)(writers) ++
      Option.when(entry.outputs.nonEmpty)(outputs) ++ Option.when(uncountedOf.nonEmpty)(uncounted) ++
      entry.correction.map(correction) ++ Option.when(reading.nonEmpty)(sources) ++ entry.reason.map(reason)
    SectionFormat.writeVersion(if (noted.isEmpty && moved.isEmpty) SectionFormat.First else SectionFormat.Version, all)
  }

  private def correction(of: Correction): (Int, ByteWriter => Unit) = Tag.Correction ->
    (w => {
      w.signed(of.batch)
      w.signed(of.queryMillis)
      w.seq(of.origins.toSeq.sortBy(_.toString))(originName(w, _))
    })

  private def reason(of: ReasonText): (Int, ByteWriter => Unit) = Tag.Reason ->
    (w => {
      w.text(of.code)
      w.text(of.sentence)
      w.seq(of.fix.toSeq)(w.text)
      w.seq(of.heldBy.toSeq)(w.text)
      w.unsigned(if (of.isTrouble) 1L else 0L)
    })

  private def readReason(r: ByteReader): ReasonText =
    ReasonText(r.text(), r.text(), r.seq(r.text()).headOption, r.seq(r.text()).headOption, r.unsigned() == 1L)

  /** Reads an entry without its splits, which go into the assembler. */
  private[core] def decode(bytes: Array[Byte], into: EntryAssembler): WatermarkEntry = {
    var entry = WatermarkEntry(-1L, 0L, 0L, Decision.none, Map.empty, Floors.none, Map.empty)
    def read(floors: Floors => Floors): Unit = entry = entry.copy(floors = floors(entry.floors))
    SectionFormat.read(bytes) {
      case Tag.Batch => body =>
          entry = entry.copy(batch = body.signed(), timestampMillis = body.signed(), endMillis = body.signed())
      case Tag.Decision => body =>
          val origins = body.seq(readOriginName(body) -> readWatermark(body)).toMap
          entry = entry.copy(decision = Decision(origins, Floors(readUnions(body), readCarried(body), readSides(body))))
      case Tag.Origins => body =>
          val origins = body.seq {
            val name = readOriginName(body)
            name -> readOrigin(body, into.all(name))
          }
          entry = entry.copy(origins = origins.toMap)
      case Tag.Unions => body => read(_.copy(unions = readUnions(body)))
      case Tag.Carried => body => read(_.copy(carried = readCarried(body)))
      case Tag.Ledgers => body =>
          val ledgers = body.seq {
            val at = readInput(body)
            val width = body.unsigned()
            at -> CarriedMinima(width, TreeMap.from(body.seq(body.signed() -> body.seq(body.option()).toVector)))
          }
          entry = entry.copy(ledgers = ledgers.toMap)
      case Tag.Sides => body => read(_.copy(inputs = readSides(body)))
      case Tag.Later => body =>
          body.seq(readOriginName(body) -> body.unsigned()).foreach { case (name, millis) =>
            into.changed(name).activeLater(millis)
          }
      case Tag.Changes => body =>
          into.requireAfter(body.int())
          (0 until body.count()).foreach { _ =>
            val name = readOriginName(body)
            SplitsCodec.readChanges(body, into.changed(name))
          }
      case Tag.Uncounted => body =>
          body.seq(readOriginName(body) -> UncountedCodec.read(body)).foreach { case (name, uncounted) =>
            val state = entry.origins.get(name).map(_.copy(uncounted = uncounted))
            entry = entry.copy(origins = entry.origins ++ state.map(name -> _))
          }
      case Tag.Outputs => body => entry = entry.copy(outputs = body.seq(body.text() -> readWatermark(body)).toMap)
      case Tag.Correction => body =>
          val (batch, queryMillis) = (body.signed(), body.signed())
          val origins = body.seq(readOriginName(body)).toSet
          entry = entry.copy(correction = Some(Correction(batch, queryMillis, origins)))
      case Tag.Reason => body => entry = entry.copy(reason = Some(readReason(body)))
      case Tag.Sources => body =>
          val sources = body.seq {
            val name = readOriginName(body)
            val areNames = body.unsigned() == 1L
            name -> OriginSources(body.seq(body.text()), areNames)
          }.toMap
          entry = entry.copy(origins = entry.origins.map { case (name, state) =>
            name -> state.copy(sources = sources.get(name))
          })
      case Tag.Writers => body =>
          body.seq(readOriginName(body) -> WritersCodec.read(body)).foreach { case (name, writers) =>
            val state = entry.origins.getOrElse(name, throw new Damaged(s"it has writers of an unknown input '$name'"))
            entry = entry.copy(origins = entry.origins.updated(name, state.copy(writers = writers)))
          }
    }
    if (entry.batch < 0) throw new Damaged("it does not name its batch")
    entry
  }

  private def readOrigin(r: ByteReader, into: SplitsBuilder): OriginState = {
    val reached = readWatermark(r)
    val newest = r.option()
    val since = r.option()
    val waiting = r.unsigned() == 1L
    val farAhead = r.unsigned()
    val splitBy = r.seq(r.text())
    SplitsCodec.read(r, into)
    // The origin's idleness is known only after all of its splits have been read.
    OriginState(Splits.none.atLeast(reached), newest, since, waiting, farAhead, splitBy, silent = reached.isIdle)
  }
}
