package io.tidemark.core.calls

import java.nio.charset.StandardCharsets.UTF_8
import java.util.UUID

import scala.collection.mutable

/** The ids of the calls of one task: a call has its id again when the task runs again, and no other call has it. One thread
  * uses it.
  *
  * @param task what the task does, which is the same in all of its attempts
  */
final class CallIds(task: String) {
  // By what is the same in rows with equal inputs, which may be long.
  private val before = mutable.HashMap.empty[UUID, Int]

  /** The id of a row that has none yet. The row's place does not matter: rows may come in another order when a batch runs
    * again.
    */
  def next(inputs: Array[Byte]): UUID = {
    val key = UUID.nameUUIDFromBytes(inputs)
    val count = before.getOrElse(key, 0)
    before(key) = count + 1
    UUID.nameUUIDFromBytes(s"$task/$key/$count".getBytes(UTF_8))
  }
}

object CallIds {
  private val current = new ThreadLocal[() => UUID]

  /** Begins a call that may ask for its id in this thread. */
  def within[A](id: () => UUID)(call: => A): A = {
    current.set(id)
    try call
    finally current.remove()
  }

  /** The id of the call that is begun in this thread. */
  def now(): Option[UUID] = Option(current.get).map(_.apply())
}
