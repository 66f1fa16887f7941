package io.tidemark.core.held

import io.tidemark.core.bytes.{ByteReader, ByteWriter, Damaged}

/** The pages of rows that one state partition holds: rows whose event time the watermark has not passed.
  *
  * The list is one small value in the state store, so that a batch reads only the pages with rows that are due. It is
  * immutable; a batch writes the next one.
  *
  * @param nextId the key of the next page
  */
final case class HeldPages(nextId: Long, pages: Vector[PageInfo]) {
  import HeldPages._

  def rows: Long = pages.iterator.map(_.rows).sum
  def bytes: Long = pages.iterator.map(_.bytes.toLong).sum

  /** The smallest and the largest event time that are held (µs). */
  def times: Option[(Long, Long)] =
    Option.when(pages.nonEmpty)((pages.iterator.map(_.smallest).min, pages.iterator.map(_.largest).max))

  /** The pages with rows that a watermark has passed. */
  def due(upToMicros: Long): Vector[PageInfo] = pages.filter(_.smallest <= upToMicros)

  def added(page: PageInfo): HeldPages = HeldPages(math.max(nextId, page.id + 1), pages :+ page)
  def without(id: Long): HeldPages = copy(pages = pages.filterNot(_.id == id))
  def replaced(page: PageInfo): HeldPages = copy(pages = pages.map(p => if (p.id == page.id) page else p))

  /** How large a page should be (bytes). Pages grow with what is held, so that the list stays small. */
  def pageBytes: Int = math.min(math.max(bytes / FewPages, SmallestFull), LargestFull).toInt

  /** Small pages to merge into larger ones; none as long as there are few small ones. */
  def toMerge: Vector[PageInfo] = {
    val least = pageBytes / 4
    val small = pages.filter(_.bytes < least)
    if (small.size > SmallPages) small else Vector.empty
  }

  def encoded: Array[Byte] = {
    val out = new ByteWriter()
    out.unsigned(Version)
    out.unsigned(nextId)
    out.seq(pages) { page =>
      out.unsigned(page.id)
      out.signed(page.smallest)
      out.unsigned(page.largest - page.smallest)
      out.unsigned(page.rows)
      out.unsigned(page.bytes.toLong)
    }
    out.bytes
  }
}

object HeldPages {
  val empty: HeldPages = HeldPages(0L, Vector.empty)

  private val Version = 1L
  private val SmallestFull = 64L * 1024
  private val LargestFull = 4L * 1024 * 1024
  private val FewPages = 2048L
  private val SmallPages = 64

  /** @throws io.tidemark.core.bytes.Damaged if the bytes are not such a list */
  def decode(bytes: Array[Byte]): HeldPages = {
    val in = new ByteReader(bytes, 0, bytes.length)
    val version = in.unsigned()
    if (version != Version) throw new Damaged(s"it has version $version")
    val nextId = in.unsigned()
    HeldPages(
      nextId,
      in.seq {
        val id = in.unsigned()
        val smallest = in.signed()
        PageInfo(id, smallest, smallest + in.unsigned(), in.unsigned(), in.unsigned().toInt)
      }.toVector)
  }
}
