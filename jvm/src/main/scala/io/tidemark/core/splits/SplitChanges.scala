package io.tidemark.core.splits

/** How splits differ from what they were before.
  *
  * @param size how many splits there were
  * @param laterMillis by how much the last active time of each of them has become later, unless it is in `changed`
  * @param changed the splits that differ otherwise, and new ones, in order
  */
final case class SplitChanges(size: Int, laterMillis: Long, changed: Array[Int])
