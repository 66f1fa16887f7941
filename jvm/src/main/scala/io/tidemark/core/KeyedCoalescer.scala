package io.tidemark.core

import scala.collection.mutable

/** Watermarks of several keys that come through the same inputs: one [[Coalescer]] for each key, and the state of an
  * input is the same for all of them.
  *
  * Whatever an input says, of any key or of none, makes it active for every key; a key that is seen for the first time
  * takes over which inputs are idle and which have ended. The rule is that of the design of Hazelcast Jet's keyed
  * watermarks. Not thread-safe.
  */
final class KeyedCoalescer[K](onReturn: OnReturn = OnReturn.Hold) {

  // Of no key: it has the state of each input, and when it was last heard.
  private val inputs = new Coalescer(onReturn)
  private val byKey = mutable.LinkedHashMap.empty[K, Coalescer]

  def keys: Iterable[K] = byKey.keys

  /** The watermark of a key; [[Coalescer.NoClock]] if there is none yet. */
  def watermark(key: K): Long = byKey.get(key).fold(Coalescer.NoClock)(_.watermark)

  /** How far an input has got with a key; [[Coalescer.NoClock]] if it has said nothing of it. */
  def clock(input: Int, key: K): Long = byKey.get(key).fold(Coalescer.NoClock)(_.clock(input))

  /** The state of an input, for all keys alike. */
  def state(input: Int): Byte = inputs.state(input)

  def isIdle: Boolean = inputs.isIdle

  /** Adds an active input; returns its number. */
  def add(nowMillis: Long): Int = {
    byKey.values.foreach(_.add(nowMillis))
    inputs.add(nowMillis)
  }

  /** An input has got as far as `clockMillis` with one key. */
  def hear(input: Int, key: K, clockMillis: Long, nowMillis: Long): Unit = {
    val own = byKey.getOrElseUpdate(key, begin())
    hear(input, nowMillis)
    own.hear(input, clockMillis, nowMillis)
  }

  /** An input has spoken, of no key. */
  def hear(input: Int, nowMillis: Long): Unit = all.foreach(_.hear(input, nowMillis))

  def idle(input: Int): Unit = all.foreach(_.idle(input))

  /** Makes every input idle that was last heard at `limitMillis` or before. */
  def idleSince(limitMillis: Long): Unit = all.foreach(_.idleSince(limitMillis))

  /** @throws IllegalStateException when the input has ended before */
  def end(input: Int): Unit = all.foreach(_.end(input))

  private def all: Iterator[Coalescer] = Iterator.single(inputs) ++ byKey.valuesIterator

  private def begin(): Coalescer = {
    val own = new Coalescer(onReturn, inputs.size)
    for (input <- 0 until inputs.size) {
      own.add(inputs.lastHeard(input))
      inputs.state(input) match {
        case Coalescer.Idle => own.idle(input)
        case Coalescer.Ended => own.end(input)
        case _ => ()
      }
    }
    own
  }
}
