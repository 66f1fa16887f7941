package io.tidemark.core.format

import scala.collection.mutable

import io.tidemark.core.OriginName
import io.tidemark.core.bytes.Damaged
import io.tidemark.core.memory.WatermarkEntry

/** Puts an entry together from what is written of it: one that is whole, or the splits as they were once, and then the
  * entries of all batches after it, in order.
  */
final class EntryAssembler {
  private val splits = mutable.HashMap.empty[OriginName, SplitsBuilder]
  private var last = Option.empty[WatermarkEntry]
  private var checksum = Option.empty[Int]

  // Of the entry that is being read.
  private val whole = mutable.HashMap.empty[OriginName, SplitsBuilder]

  /** Reads the names of all splits as they were at the end of a batch; [[states]] has to follow.
    * @throws Damaged when the bytes are not what they should be
    */
  def names(bytes: Array[Byte], of: SplitsSnapshot.Header): Unit = SplitsSnapshot.decodeNames(bytes, of, known)

  /** Reads how they stood then; what is read next is the entry of the batch after it.
    * @throws Damaged when the bytes are not what they should be
    */
  def states(bytes: Array[Byte]): Unit = {
    SplitsSnapshot.decodeStates(bytes, known)
    checksum = Some(SplitsSnapshot.header(bytes).entry)
  }

  private def known(name: OriginName): SplitsBuilder = splits.getOrElseUpdate(name, new SplitsBuilder)

  /** Reads an entry.
    * @throws Damaged when it is damaged, or is not the one that follows
    * @throws SectionFormat.Newer when a later format version wrote it
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

  /** The same, and the checksum of its file. */
  def written: EntryCodec.Written = EntryCodec.Written(entry, checksum.get)

  /** Where all splits of an origin go. */
  private[core] def all(name: OriginName): SplitsBuilder = whole.getOrElseUpdate(name, new SplitsBuilder)

  /** Where the changes of an origin's splits go. */
  private[core] def changed(name: OriginName): SplitsBuilder = {
    val _ = whole.remove(name)
    splits.getOrElse(name, throw new Damaged(s"it changes splits of '$name' that no earlier entry has"))
  }

  private[core] def requireAfter(entry: Int): Unit =
    if (!checksum.contains(entry)) throw new Damaged("another run wrote the entry before it")
}
