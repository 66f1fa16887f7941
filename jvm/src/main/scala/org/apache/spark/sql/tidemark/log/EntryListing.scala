package org.apache.spark.sql.tidemark.log

import scala.collection.immutable.TreeMap

import org.apache.spark.sql.tidemark.log.EntryFiles._

/** The files of the `tidemark` folder at one time, by batch and kind, with their bytes as listed. Immutable. */
private[tidemark] final case class EntryListing(files: TreeMap[Long, Map[Kind, Long]]) {

  def has(batch: Long, kind: Kind): Boolean = files.get(batch).exists(_.contains(kind))

  /** Whether there is an entry of a batch, with all splits or with those that have changed. */
  def hasEntry(batch: Long): Boolean = has(batch, Whole) || has(batch, Changes)

  /** The batches with a file of any kind, in order. */
  def batches: Iterator[Long] = files.keysIterator

  /** The batches with an entry, in order. */
  def entries: Seq[Long] = batches.filter(hasEntry).toSeq

  /** The newest batch up to this one with a file of that kind. */
  def newest(upTo: Long, kind: Kind): Option[Long] =
    files.rangeTo(upTo).toSeq.reverseIterator.collectFirst { case (batch, there) if there.contains(kind) => batch }

  /** The bytes of a file when the folder was listed; 0 for a file that was written later. */
  def bytes(batch: Long, kind: Kind): Long = files.get(batch).flatMap(_.get(kind)).getOrElse(0L)

  def +(batch: Long, kind: Kind, bytes: Long = 0L): EntryListing =
    EntryListing(files.updated(batch, files.getOrElse(batch, Map.empty[Kind, Long]).updated(kind, bytes)))

  def -(batch: Long, kind: Kind): EntryListing =
    EntryListing(files.updatedWith(batch)(_.map(_ - kind).filter(_.nonEmpty)))
}

private[tidemark] object EntryListing {
  val empty: EntryListing = EntryListing(TreeMap.empty[Long, Map[Kind, Long]])
}
