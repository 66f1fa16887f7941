package org.apache.spark.sql.tidemark.exec.held

import io.tidemark.core.held.{HeldPages, PageInfo, PageReader, PageWriter}

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform

/** What one task does with held rows in one batch. Only the pages that it reads and writes are in memory, one at a time.
  *
  * @param releaseMicros rows with an event time up to here are released (µs)
  */
private[tidemark] final class HeldRows(store: PageStore, columns: HeldColumns, releaseMicros: Long) {
  private val before = store.pages
  private var pages = rewritten(before)
  private val pageBytes = pages.pageBytes
  private val open = new PageWriter
  private var hasColumns = false
  private var taken = 0L
  private var emitted = 0L

  /** How many rows this batch has begun to hold. */
  def held: Long = taken

  /** How many rows this batch has released from pages. */
  def released: Long = emitted

  /** Holds a row. Rows come by their times. */
  def hold(timeMicros: Long, row: UnsafeRow): Unit = {
    append(timeMicros, row)
    taken += 1
  }

  /** The held rows that are due, page by page. A row is valid until the next one is asked for. */
  def due(): Iterator[UnsafeRow] = pages.due(releaseMicros).iterator.flatMap(dueIn)

  /** Writes what is left to the store.
    * @return the pages, as the next batch will find them
    */
  def finish(): HeldPages = {
    flush()
    merge()
    if (pages != before) store.pages = pages
    pages
  }

  private def dueIn(page: PageInfo): Iterator[UnsafeRow] = {
    val reader = new PageReader(store.page(page.id))
    val row = new UnsafeRow(columns.size)
    val first = emitted
    Iterator.unfold(()) { _ =>
      if (forward(reader, page.smallest) && reader.timeMicros <= releaseMicros) {
        emitted += 1
        Some(at(reader, row) -> ())
      } else {
        leave(page, emitted - first, reader)
        None
      }
    }
  }

  /** Goes to the next row that no earlier batch has released. */
  private def forward(reader: PageReader, fromMicros: Long): Boolean = {
    var found = reader.advance()
    while (found && reader.timeMicros < fromMicros) found = reader.advance()
    found
  }

  private def at(reader: PageReader, row: UnsafeRow): UnsafeRow = {
    row.pointTo(reader.bytes, Platform.BYTE_ARRAY_OFFSET + reader.offset.toLong, reader.length)
    row
  }

  /** What is released is at the front of the page. It goes when it is half of the page, so that one row that waits for long
    * does not keep the others' bytes.
    */
  private def leave(page: PageInfo, left: Long, reader: PageReader): Unit =
    if (left == page.rows) drop(page)
    else {
      val waiting = page.copy(smallest = reader.timeMicros, rows = page.rows - left)
      if (reader.restBytes > page.bytes / 2) pages = pages.replaced(waiting)
      else {
        store.put(page.id, reader.rest)
        pages = pages.replaced(waiting.copy(bytes = reader.restBytes))
      }
    }

  private def drop(page: PageInfo): Unit = {
    store.remove(page.id)
    pages = pages.without(page.id)
  }

  private def append(timeMicros: Long, row: UnsafeRow): Unit = {
    write(open, timeMicros, row)
    if (open.size >= pageBytes) flush()
  }

  private def write(page: PageWriter, timeMicros: Long, row: UnsafeRow): Unit = {
    val at = page.add(timeMicros, row.getSizeInBytes)
    row.writeToMemory(page.array, Platform.BYTE_ARRAY_OFFSET + at.toLong)
  }

  private def flush(): Unit = if (!open.isEmpty) {
    if (!hasColumns && !store.columns.contains(columns.text)) store.columns = columns.text
    hasColumns = true
    val page = open.info(pages.nextId)
    store.put(page.id, open.take())
    pages = pages.added(page)
  }

  private def merge(): Unit = {
    val small = pages.toMerge
    if (small.nonEmpty) {
      val rows = small.flatMap { page =>
        val reader = new PageReader(store.page(page.id))
        Iterator.continually(reader).takeWhile(forward(_, page.smallest))
          .map(r => r.timeMicros -> at(r, new UnsafeRow(columns.size)))
      }
      small.foreach(drop)
      rows.sortBy(_._1).foreach { case (time, row) => append(time, row) }
      flush()
    }
  }

  /** The pages with the columns that the query has now, which are the same but for the first batch of a run. */
  private def rewritten(all: HeldPages): HeldPages = store.columns match {
    case Some(held) if all.pages.nonEmpty && held != columns.text =>
      val convert = columns.from(held)
      store.columns = columns.text
      all.pages.foldLeft(all) { (now, page) =>
        val reader = new PageReader(store.page(page.id))
        val writer = new PageWriter
        while (forward(reader, page.smallest))
          write(writer, reader.timeMicros, convert(reader.bytes, reader.offset, reader.length))
        val info = writer.info(page.id)
        store.put(page.id, writer.take())
        now.replaced(info)
      }
    case _ => all
  }
}
