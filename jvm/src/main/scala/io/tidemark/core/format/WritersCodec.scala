package io.tidemark.core.format

import io.tidemark.core.bytes.{ByteReader, ByteWriter, Damaged}
import io.tidemark.core.noted.{MarkId, WriterState}

/** How far the marks of each writer have been passed, in an entry. The marks themselves stay in their log.
  *
  * {{{ writer = name  flags  [epoch number]  active  [next] }}} The flags say which optional parts follow.
  */
private[core] object WritersCodec {
  private val HasPassed = 1L
  private val HasPending = 2L
  private val IsIdle = 4L
  private val IsEnded = 8L
  private val HasNext = 16L
  private val IsUndated = 32L
  private val All = 63L

  def write(out: ByteWriter, writers: Map[String, WriterState]): Unit =
    out.seq(writers.toSeq.sortBy(_._1)) { case (writer, at) =>
      def flag(is: Boolean, value: Long) = if (is) value else 0L
      out.text(writer)
      out.unsigned(
        flag(at.passed.nonEmpty, HasPassed) | flag(at.hasPending, HasPending) | flag(at.isIdle, IsIdle) |
          flag(at.isEnded, IsEnded) | flag(at.nextMillis.nonEmpty, HasNext) | flag(!at.isDated, IsUndated))
      at.passed.foreach { place => out.unsigned(place.epoch); out.unsigned(place.number) }
      out.signed(at.lastActiveMillis)
      at.nextMillis.foreach(out.signed)
    }

  def read(in: ByteReader): Map[String, WriterState] = in.seq(in.text() -> readWriter(in)).toMap

  private def readWriter(in: ByteReader): WriterState = {
    val flags = in.unsigned()
    if ((flags & ~All) != 0) throw new Damaged(s"it has a writer with flags $flags")
    def has(flag: Long) = (flags & flag) != 0
    val passed = Option.when(has(HasPassed))(MarkId(in.unsigned(), in.unsigned()))
    val active = in.signed()
    val next = Option.when(has(HasNext))(in.signed())
    WriterState(passed, active, has(HasPending), has(IsIdle), has(IsEnded), next, !has(IsUndated))
  }
}
