package io.tidemark.core.memory

import io.tidemark.core.OriginName

/** A change that a person has made to the last entry of a stopped query.
  *
  * @param batch the batch whose entry was changed
  * @param queryMillis the largest watermark that the whole query has had since (0: none)
  * @param origins the inputs that were changed
  */
final case class Correction(batch: Long, queryMillis: Long, origins: Set[OriginName]) {

  /** What counts of Spark's own watermark of the query (ms). Spark's log has the corrected one from the second batch of a run
    * on, so it never has it if each run is one batch.
    */
  def counts(sparkMillis: Long): Long = math.min(sparkMillis, queryMillis)

  /** With a later watermark of the whole query. */
  def reached(millis: Long): Correction = copy(queryMillis = math.max(queryMillis, millis))
}
