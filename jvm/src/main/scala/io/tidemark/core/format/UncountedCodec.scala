package io.tidemark.core.format

import io.tidemark.core.bytes.{ByteReader, ByteWriter, Damaged}
import io.tidemark.core.memory.Uncounted

/** The times that do not count as silence of an origin's splits: `docs/format.md` has the layout. */
private[core] object UncountedCodec {
  private val AllBut = 0L
  private val Only = 1L
  private val Unknown = 2L

  def write(w: ByteWriter, all: Uncounted): Unit = {
    w.option(all.forgottenMillis)
    w.seq(all.spans) { span =>
      w.signed(span.untilMillis)
      w.unsigned(span.millis)
      val (kind, splits) = span.atEnd match {
        case Uncounted.AllBut(some) => AllBut -> some
        case Uncounted.Only(some) => Only -> some
        case Uncounted.Unknown => Unknown -> Set.empty[Int]
      }
      w.unsigned(kind)
      w.seq(splits.toSeq.sorted)(split => w.unsigned(split.toLong))
    }
  }

  def read(r: ByteReader): Uncounted = {
    val forgotten = r.option()
    val spans = r.seq {
      val (until, millis, kind) = (r.signed(), r.unsigned(), r.unsigned())
      val splits = r.seq(r.unsigned().toInt).toSet
      val atEnd = kind match {
        case AllBut => Uncounted.AllBut(splits)
        case Only => Uncounted.Only(splits)
        case Unknown => Uncounted.Unknown
        case other => throw new Damaged(s"it has uncounted time of kind $other")
      }
      Uncounted.Span(until, millis, atEnd)
    }
    Uncounted(spans.toVector, forgotten)
  }
}
