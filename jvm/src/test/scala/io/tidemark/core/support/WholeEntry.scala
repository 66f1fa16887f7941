package io.tidemark.core.support

import io.tidemark.core.format.{EntryAssembler, EntryCodec}
import io.tidemark.core.memory.WatermarkEntry

/** The bytes of an entry with all of its splits, which need no other file to be read. */
object WholeEntry {
  def encode(entry: WatermarkEntry): Array[Byte] = EntryCodec.encode(entry, None).data

  def decode(bytes: Array[Byte]): WatermarkEntry = {
    val read = new EntryAssembler
    read.next(bytes)
    read.entry
  }
}
