package io.tidemark.core.memory

import io.tidemark.core.OriginName

/** A change that a person has made to the last entry of a stopped query.
  *
  * @param batch the batch whose entry was changed
  * @param queryMillis the watermark of the whole query after that (0: none)
  * @param origins the inputs that were changed
  */
final case class Correction(batch: Long, queryMillis: Long, origins: Set[OriginName]) {

  /** What counts of Spark's own watermark of the query (ms) after the batch of an entry. Spark's log has the corrected one
    * from the second batch on.
    */
  def counts(sparkMillis: Long, after: Long): Long =
    if (after <= batch + 1) math.min(sparkMillis, queryMillis) else sparkMillis
}
