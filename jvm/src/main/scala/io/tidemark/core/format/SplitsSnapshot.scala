package io.tidemark.core.format

import io.tidemark.core.OriginName
import io.tidemark.core.bytes.Damaged
import io.tidemark.core.memory.WatermarkEntry

/** The state of all splits of a query at the end of a batch. With many splits an entry has only those that changed, so
  * a snapshot saves reading all changes since the beginning. Names never change, so they are in a separate file, which
  * later snapshots may share.
  */
object SplitsSnapshot {
  private object Tag {
    val Header = 16
    val States = 17
    val Names = 18
  }

  /** @param batch the batch whose end it shows; @param entry the checksum of that batch's entry
    * @param namesBatch the batch of its names file; @param names the checksum of that file
    */
  final case class Header(batch: Long, entry: Int, namesBatch: Long, names: Int)

  /** The names of all splits of an entry. */
  def encodeNames(entry: WatermarkEntry): Array[Byte] = SectionFormat.write(Tag.Names -> { w =>
    w.signed(entry.batch)
    w.seq(entry.origins.toSeq) { case (name, state) =>
      ValuesCodec.originName(w, name)
      state.splits.writeNames(w, 0)
    }
  })

  /** The states of the splits of an entry.
    * @param names the batch of a names file with exactly these splits, and its checksum
    */
  def encode(entry: EntryCodec.Written, names: (Long, Int)): Array[Byte] = SectionFormat.write(
    Tag.Header -> { w =>
      w.signed(entry.entry.batch)
      w.int(entry.checksum)
      w.signed(names._1)
      w.int(names._2)
    },
    Tag.States ->
      (w =>
        w.seq(entry.entry.origins.toSeq) { case (name, state) =>
          ValuesCodec.originName(w, name)
          w.unsigned(state.splits.size.toLong)
          val states = new SplitStateCodec.Writer(w, state.splits)
          (0 until state.splits.size).foreach(states.write)
        }))

  /** The batch, entry and names file that a snapshot belongs to.
    * @throws Damaged if the bytes are not a snapshot
    */
  def header(states: Array[Byte]): Header = {
    var found = Option.empty[Header]
    SectionFormat.read(states) {
      case Tag.Header => body => found = Some(Header(body.signed(), body.int(), body.signed(), body.int()))
      case Tag.States => _ => ()
    }
    found.getOrElse(throw new Damaged("it does not name its batch"))
  }

  def checksumOf(file: Array[Byte]): Int = SectionFormat.checksumOf(file)

  private[core] def decodeNames(names: Array[Byte], of: Header, into: OriginName => SplitsBuilder): Unit =
    SectionFormat.read(names) {
      case Tag.Names => body =>
          if (body.signed() != of.namesBatch || checksumOf(names) != of.names)
            throw new Damaged("its names are not those that the snapshot was written with")
          (0 until body.count()).foreach(_ => into(ValuesCodec.readOriginName(body)).names.read(body))
    }

  private[core] def decodeStates(states: Array[Byte], into: OriginName => SplitsBuilder): Unit =
    SectionFormat.read(states) {
      case Tag.Header => _ => ()
      case Tag.States => body =>
          (0 until body.count()).foreach { _ =>
            val all = into(ValuesCodec.readOriginName(body))
            if (body.unsigned() != all.names.size) throw new Damaged("it has splits without a name")
            val states = new SplitStateCodec.Reader(body, all)
            (0 until all.names.size).foreach(states.read)
          }
    }
}
