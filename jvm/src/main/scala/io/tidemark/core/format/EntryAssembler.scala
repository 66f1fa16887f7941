package io.tidemark.core.format

import scala.collection.mutable

import io.tidemark.core.OriginName
import io.tidemark.core.bytes.Damaged
import io.tidemark.core.memory.WatermarkEntry

/** Reads an entry. Its input is a whole entry, or a snapshot of the splits and then the entries of all batches after it,
  * in order.
  */
final class EntryAssembler {
  private val splits = mutable.HashMap.empty[OriginName, SplitsBuilder]
  private var last = Option.empty[WatermarkEntry]
  private var checksum = Option.empty[Int]

  // The state of the entry that is being read.
  private val whole = mutable.HashMap.empty[OriginName, SplitsBuilder]

  /** Reads the names of all splits at the end of a batch; [[states]] must follow.
    * @throws Damaged if the bytes are not what Tidemark wrote
    */
  def names(bytes: Array[Byte], of: SplitsSnapshot.Header): Unit = SplitsSnapshot.decodeNames(bytes, of, known)

  /** Reads the states of the splits then; the entry of the next batch must follow.
    * @throws Damaged if the bytes are not what Tidemark wrote
    */
  def states(bytes: Array[Byte]): Unit = {
    SplitsSnapshot.decodeStates(bytes, known)
    checksum = Some(SplitsSnapshot.header(bytes).entry)
  }

  private def known(name: OriginName): SplitsBuilder = splits.getOrElseUpdate(name, new SplitsBuilder)

  /** Reads an entry.
    * @throws Damaged if it is damaged, or is not the one that follows
    * @throws SectionFormat.Newer if a later format version wrote it
    */
  def next(bytes: Array[Byte]): Unit = {
    whole.clear()
    last = Some(EntryCodec.decode(bytes, this))
    splits ++= whole
    checksum = Some(SectionFormat.checksumOf(bytes))
  }

  /** The batch of the entry that was read last. */
  def batch: Long = last.fold(-1L)(_.batch)

  /** The entry that was read last. */
  def entry: WatermarkEntry = {
    val read = last.getOrElse(throw new IllegalStateException("no entry was read"))
    read.copy(origins = read.origins.map { case (name, state) =>
      val all = splits.get(name).fold(state.splits)(_.splits(state.watermark))
      name -> state.copy(splits = all, silent = state.silent && !all.watermark.isIdle)
    })
  }

  /** The entry that was read last, with the checksum of its file. */
  def written: EntryCodec.Written = EntryCodec.Written(entry, checksum.get)

  /** Receives all splits of an origin. */
  private[core] def all(name: OriginName): SplitsBuilder = whole.getOrElseUpdate(name, new SplitsBuilder)

  /** Receives the changed splits of an origin. */
  private[core] def changed(name: OriginName): SplitsBuilder = {
    val _ = whole.remove(name)
    splits.getOrElse(name, throw new Damaged(s"it changes splits of '$name' that no earlier entry has"))
  }

  private[core] def requireAfter(entry: Int): Unit =
    if (!checksum.contains(entry)) throw new Damaged("another run wrote the entry before it")
}
