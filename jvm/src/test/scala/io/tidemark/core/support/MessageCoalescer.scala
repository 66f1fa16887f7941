package io.tidemark.core.support

import scala.collection.mutable

import io.tidemark.core.splits.{Coalescer, IdlePreview, OnReturn}

/** The engine's [[Coalescer]] with an operation for each message of Hazelcast's coalescer and Flink's valve.
  *
  * The engine observes all inputs of a batch and then settles. Here each message is a batch of one. An input that has ended
  * is idle forever, and does not count when all inputs are idle.
  */
final class MessageCoalescer(clocks: Coalescer) {
  private val ended = mutable.HashSet.empty[Int]

  def this(onReturn: OnReturn = OnReturn.Hold) = this(new Coalescer(onReturn))

  def size: Int = clocks.size
  def active: Int = clocks.active
  def watermark: Long = clocks.watermark
  def isIdle: Boolean = active == 0 && ended.size < size
  def state(input: Int): Byte = clocks.state(input)
  def hasEnded(input: Int): Boolean = ended(input)
  def clock(input: Int): Long = clocks.clock(input)
  def lastActive(input: Int): Long = clocks.lastActive(input)

  def add(nowMillis: Long): Int = clocks.add(nowMillis)

  /** An input's clock is at `clockMillis`. */
  def observe(input: Int, clockMillis: Long, nowMillis: Long): Unit = {
    requireNotEnded(input)
    clocks.observe(input, clockMillis, nowMillis)
    clocks.settle()
  }

  /** An input is active, and its clock is not known. */
  def observe(input: Int, nowMillis: Long): Unit = observe(input, Coalescer.NoClock, nowMillis)

  /** The clocks of all inputs together; [[Coalescer.NoClock]] for those without a message. */
  def observeAll(all: Seq[Long], nowMillis: Long): Unit = {
    for ((clock, input) <- all.zipWithIndex if clock != Coalescer.NoClock) clocks.observe(input, clock, nowMillis)
    clocks.settle()
  }

  def idle(input: Int): Unit = {
    requireNotEnded(input)
    if (clocks.state(input) != Coalescer.Idle) clocks.leave(input)
    clocks.settle()
  }

  def idleSince(limitMillis: Long): Unit = clocks.idleSince(limitMillis)

  /** What [[watermark]] and [[isIdle]] would be after [[idleSince]]. */
  def ifIdleSince(limitMillis: Long): IdlePreview = {
    val prospect = clocks.ifIdleSince(limitMillis)
    prospect.copy(idle = prospect.idle && ended.size < size)
  }

  /** @throws IllegalStateException if the input has ended before */
  def end(input: Int): Unit = {
    idle(input)
    ended += input
  }

  def raise(watermarkMillis: Long): Unit = clocks.raise(watermarkMillis)

  private def requireNotEnded(input: Int): Unit =
    if (ended(input)) throw new IllegalStateException(s"input $input has ended")
}
