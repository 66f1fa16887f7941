package io.tidemark.core.calls

import scala.collection.mutable

/** The rows of a task whose calls are made asynchronously: which is called next, and which is emitted next.
  *
  * At most `concurrency` calls are in flight. Of rows with an equal key, at most one is, in the order of the rows. A row
  * whose call has failed gives its slot back, and its key waits for it until it is done. A call that has been given up keeps
  * its slot, and the slot of its key, until it has ended.
  *
  * A watermark never overtakes a row here: it moves between batches, and a task ends when its queue is empty.
  *
  * There are no threads and no clock inside: one thread uses a queue, and tells it what has happened.
  *
  * @param capacity how many rows may be in the queue. More than `concurrency`, so that a slow call does not stop the others
  * @param ordered whether rows are emitted in the order in which they were added. If not, as soon as they are done
  */
final class AsyncQueue[A, R](concurrency: Int, capacity: Int, ordered: Boolean) {
  import AsyncQueue.Entry

  private var free = concurrency
  private var size = 0
  private val ready = mutable.ArrayDeque.empty[Entry[A, R]]
  private val emitted = mutable.ArrayDeque.empty[Entry[A, R]]
  private val chains = mutable.HashMap.empty[Any, mutable.Queue[Entry[A, R]]]

  def isEmpty: Boolean = size == 0
  def hasRoom: Boolean = size < capacity

  /** Takes a row that comes after all that were added before. */
  def add(row: A, key: Option[Any] = None): Unit = {
    val entry = new Entry[A, R](row, key)
    size += 1
    if (ordered) emitted += entry
    key.flatMap(chains.get) match {
      case Some(chain) => chain += entry
      case None =>
        key.foreach(chains(_) = mutable.Queue.empty)
        ready += entry
    }
  }

  /** Takes such a row that is not called, as its result is known. */
  def addDone(row: A, result: R): Unit = {
    val entry = new Entry[A, R](row, None)
    entry.result = Some(result)
    size += 1
    emitted += entry
  }

  /** The row to be called now, which takes a slot; none if all slots are taken, or all rows wait for others. */
  def begin(): Option[Entry[A, R]] = Option.when(free > 0 && ready.nonEmpty) {
    val entry = ready.removeHead()
    free -= 1
    entry.begun += 1
    entry.isInFlight = true
    entry.isToBegin = false
    entry
  }

  /** A call has ended without a result, or has been given up: its slot is free. */
  def failed(entry: Entry[A, R]): Unit = if (entry.isInFlight) {
    entry.isInFlight = false
    free += 1
  }

  /** A call has been given up and has not ended, so that its slot stays taken until it has [[returned]]. */
  def gaveUp(entry: Entry[A, R]): Unit = if (entry.isInFlight) {
    entry.isInFlight = false
    entry.goesOn += 1
  }

  /** A call that had been given up has ended. */
  def returned(entry: Entry[A, R]): Unit = {
    entry.goesOn -= 1
    free += 1
    if (entry.key.isDefined && !entry.hasKeySlot) {
      if (entry.result.isDefined) follow(entry)
      else if (entry.isToBegin) ready.prepend(entry)
    }
  }

  /** The call of a row that has failed is to be made again, before those of later rows. */
  def again(entry: Entry[A, R]): Unit = {
    entry.isToBegin = true
    if (!entry.hasKeySlot) ready.prepend(entry)
  }

  /** The row has its result, and the next row of its key may follow. */
  def done(entry: Entry[A, R], result: R): Unit = {
    failed(entry)
    entry.result = Some(result)
    if (!ordered) emitted += entry
    if (!entry.hasKeySlot) follow(entry)
  }

  /** Whether a row waits for a slot. */
  def isWaiting: Boolean = ready.nonEmpty

  /** Whether a row waits for calls of this one that were given up, because they have the slot of its key. */
  def isWaitingFor(entry: Entry[A, R]): Boolean =
    entry.hasKeySlot && (if (entry.result.isDefined) chains(entry.key.get).nonEmpty else entry.isToBegin)

  private def follow(entry: Entry[A, R]): Unit = entry.key.foreach { key =>
    val chain = chains(key)
    if (chain.isEmpty) chains -= key else ready.prepend(chain.dequeue())
  }

  /** The next row to be emitted, if it is done. */
  def poll(): Option[(A, R)] = emitted.headOption.flatMap(_.result).map { result =>
    size -= 1
    (emitted.removeHead().row, result)
  }
}

object AsyncQueue {

  /** A row in the queue, and how often it has been called. */
  final class Entry[A, R] private[calls] (val row: A, private[calls] val key: Option[Any]) {
    private[calls] var result: Option[R] = None
    private[calls] var isInFlight: Boolean = false
    private[calls] var isToBegin: Boolean = false
    private[calls] var begun: Int = 0
    // Of its calls, how many were given up and have not ended.
    private[calls] var goesOn: Int = 0

    private[calls] def hasKeySlot: Boolean = goesOn > 0 && key.isDefined
    def attempts: Int = begun
  }
}
