package io.tidemark.core.support

import scala.collection.mutable

import io.tidemark.core.splits.{Coalescer, OnReturn}

/** Watermarks of several keys that come through the same inputs: one coalescer for each key, and the state of an input is
  * the same for all of them.
  *
  * Any message of an input makes it active for every key. A new key takes over which inputs are idle and which have ended.
  * The rule is that of the design of Hazelcast Jet's keyed watermarks. Not thread-safe.
  */
final class KeyedCoalescer[K](onReturn: OnReturn = OnReturn.Hold) {

  // Of no key: it has the state of each input, and its last active time.
  private val inputs = new MessageCoalescer(onReturn)
  private val byKey = mutable.LinkedHashMap.empty[K, MessageCoalescer]

  def keys: Iterable[K] = byKey.keys

  /** The watermark of a key; [[Coalescer.NoClock]] if there is none yet. */
  def watermark(key: K): Long = byKey.get(key).fold(Coalescer.NoClock)(_.watermark)

  /** How far an input has got with a key; [[Coalescer.NoClock]] if it has said nothing of it. */
  def clock(input: Int, key: K): Long = byKey.get(key).fold(Coalescer.NoClock)(_.clock(input))

  /** Whether an input has ended, for all keys alike. */
  def hasEnded(input: Int): Boolean = inputs.hasEnded(input)

  def isIdle: Boolean = inputs.isIdle

  /** Adds an active input; returns its number. */
  def add(nowMillis: Long): Int = {
    byKey.values.foreach(_.add(nowMillis))
    inputs.add(nowMillis)
  }

  /** An input has got as far as `clockMillis` with one key. */
  def observe(input: Int, key: K, clockMillis: Long, nowMillis: Long): Unit = {
    val own = byKey.getOrElseUpdate(key, begin())
    observe(input, nowMillis)
    own.observe(input, clockMillis, nowMillis)
  }

  /** An input is active, with no clock for any key. */
  def observe(input: Int, nowMillis: Long): Unit = all.foreach(_.observe(input, nowMillis))

  def idle(input: Int): Unit = all.foreach(_.idle(input))

  /** Makes every input idle that was last active at `limitMillis` or before. */
  def idleSince(limitMillis: Long): Unit = all.foreach(_.idleSince(limitMillis))

  /** @throws IllegalStateException when the input has ended before */
  def end(input: Int): Unit = all.foreach(_.end(input))

  private def all: Iterator[MessageCoalescer] = Iterator.single(inputs) ++ byKey.valuesIterator

  private def begin(): MessageCoalescer = {
    val own = new MessageCoalescer(onReturn)
    for (input <- 0 until inputs.size) {
      own.add(inputs.lastActive(input))
      if (inputs.hasEnded(input)) own.end(input)
      else if (inputs.state(input) == Coalescer.Idle) own.idle(input)
    }
    own
  }
}
