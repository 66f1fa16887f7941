package org.apache.spark.sql.tidemark.noted

import java.util.Arrays

/** The epochs that the records of one writer take, whatever else they say. A record that is found twice changes nothing.
  *
  * @param key the key of the writer's records
  */
private[noted] final class TopicEpochs(key: Array[Byte]) {
  private var claims = Map.empty[Long, Set[String]]
  private var largest = -1L

  /** The largest epoch; -1 if there is none. */
  def latest: Long = largest

  def add(record: TopicRecords.Record): Unit =
    if (record.key.exists(Arrays.equals(_, key))) record.value.flatMap(MarkText.epoch).foreach { found =>
      largest = math.max(largest, found.epoch)
      found.claim.foreach(id => claims += found.epoch -> (claims.getOrElse(found.epoch, Set.empty) + id))
    }

  /** Whether a claim has the largest epoch, and no other claim has the same. */
  def isLatest(epoch: Long, claim: String): Boolean = largest == epoch && claims.get(epoch).contains(Set(claim))

  /** The topic was deleted and created again. */
  def forget(): Unit = {
    claims = Map.empty
    largest = -1L
  }
}
