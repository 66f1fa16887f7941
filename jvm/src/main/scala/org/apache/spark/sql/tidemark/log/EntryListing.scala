package org.apache.spark.sql.tidemark.log

import scala.collection.immutable.TreeMap

import org.apache.spark.sql.tidemark.log.EntryFiles._

/** The files of the `tidemark` folder at one time, by batch and kind, with their bytes as listed. Immutable. */
private[tidemark] final case class EntryListing(files: TreeMap[Long, Map[Kind, Long]]) {

  def has(batch: Long, kind: Kind): Boolean = files.get(batch).exists(_.contains(kind))

  /** The file with the entry of a batch: the last correction, or what the batch has written. */
  def entry(batch: Long): Option[Kind] = whole(batch).orElse(Some(Changes).filter(has(batch, _)))

  /** The same, if that file can be read without the entry of the batch before. */
  def whole(batch: Long): Option[Kind] = {
    val corrections = corrected(batch)
    if (corrections > 0) Some(Corrected(corrections)) else Some(Whole).filter(has(batch, _))
  }

  /** The number of the last correction of a batch's entry; 0 if there is none. */
  def corrected(batch: Long): Int =
    files.get(batch).fold(0)(_.keysIterator.collect { case Corrected(number) => number }.maxOption.getOrElse(0))

  /** The batches with a file of any kind, in order. */
  def batches: Iterator[Long] = files.keysIterator

  /** The files of a batch. */
  def kinds(batch: Long): Set[Kind] = files.get(batch).fold(Set.empty[Kind])(_.keySet)

  /** The batches with an entry, in order. */
  def entries: Seq[Long] = batches.filter(entry(_).nonEmpty).toSeq

  /** The newest batch up to this one that has such a file. */
  def newest(upTo: Long)(has: Long => Boolean): Option[Long] =
    files.rangeTo(upTo).keySet.toSeq.reverseIterator.find(has)

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
