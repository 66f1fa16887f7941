package org.apache.spark.sql.tidemark.noted

import io.tidemark.core.noted.{Mark, MarkId, Position}

/** One life of a writer of marks, in a folder or a topic. The order of its steps is that of `docs/noted-time/format.md`, "What
  * a writer does". Each method but `close` may throw a `java.io.IOException`.
  */
private[noted] trait WriterLife {

  /** Its number, which is larger than those of all lives before. */
  def epoch: Long

  /** The last mark of earlier lives that counts. */
  def last: Option[MarkId]

  /** The largest time that earlier lives have noted (ms). */
  def timeMillis: Option[Long]

  /** The files that earlier lives have listed, as far as their marks still exist. */
  def files: Set[String]

  /** The first position of each other writer of the log, as they are found. */
  def others: Iterator[(String, Position)]

  /** Whether its marks still count, as far as this one can know. */
  def standing: WriterLife.Standing

  /** Makes a mark durable. If that fails, the next call writes it as well. */
  def add(mark: Mark): Unit

  /** No more marks are added. */
  def close(): Unit = ()
}

private[noted] object WriterLife {

  sealed trait Standing

  /** Its marks count. */
  case object Current extends Standing

  /** A later life has begun. */
  case object Fenced extends Standing

  /** Its files were removed, and no later life has begun. */
  case object Removed extends Standing
}
