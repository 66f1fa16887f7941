package org.apache.spark.sql.tidemark.noted

import io.tidemark.core.noted.{MarkId, WriterHistory}

/** A mark log as a query reads it, again and again. One thread uses it at a time. */
private[tidemark] trait MarkSource {

  /** Whether there is a log.
    * @throws java.io.IOException if that cannot be found out
    */
  def exists: Boolean

  /** Everything that was in the log when the call began.
    * @param passed the last mark of each writer that has been passed. Those before it are not needed
    * @param isWanted whether a writer counts
    * @throws java.io.IOException if the log cannot be read. The next call reads on
    */
  def read(passed: Map[String, MarkId] = Map.empty, isWanted: String => Boolean = _ => true): MarkLogContents

  /** The log is not read again. */
  def close(): Unit = ()
}

/** What is known of a mark log.
  * @param histories the marks of each writer that has any
  * @param skipped how many lines or records cannot be used, by the reason
  * @param isCut whether older marks were removed before this reader came, and those of some writers may be among them. In a
  *   folder, a writer's newest mark stays
  */
private[tidemark] final case class MarkLogContents(
    histories: Map[String, WriterHistory],
    skipped: Map[String, Int],
    isCut: Boolean = false)
