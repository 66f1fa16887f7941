package io.tidemark.core.held

/** What is known of one page of held rows without reading it.
  *
  * @param id the page's key in the state store
  * @param smallest the smallest event time among its rows that are still held (µs)
  * @param largest the largest event time among them (µs)
  * @param rows how many of its rows are still held
  * @param bytes the page's size, rows that have been released included
  */
final case class PageInfo(id: Long, smallest: Long, largest: Long, rows: Long, bytes: Int)
