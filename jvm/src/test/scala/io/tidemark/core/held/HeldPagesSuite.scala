package io.tidemark.core.held

import scala.util.Random

import io.tidemark.core.bytes.Damaged

import org.scalatest.funsuite.AnyFunSuite

class HeldPagesSuite extends AnyFunSuite {

  private def page(rows: Seq[(Long, Array[Byte])]): Array[Byte] = {
    val writer = new PageWriter
    rows.foreach { case (time, row) =>
      val at = writer.add(time, row.length)
      System.arraycopy(row, 0, writer.array, at, row.length)
    }
    writer.take()
  }

  private def read(bytes: Array[Byte]): Seq[(Long, Seq[Byte])] = {
    val reader = new PageReader(bytes)
    Iterator.continually(reader).takeWhile(_.advance()).map { row =>
      row.timeMicros -> row.bytes.slice(row.offset, row.offset + row.length).toSeq
    }.toVector
  }

  test("a page returns the rows that were written to it") {
    val random = new Random(3)
    for (size <- Seq(0, 1, 2, 500)) {
      val rows = Seq.fill(size)(random.nextLong() -> random.nextBytes(random.nextInt(300)))
      assert(read(page(rows)) === rows.map { case (time, row) => time -> row.toSeq })
    }
  }

  test("a page that is cut off is damaged") {
    val whole = page(Seq(1L -> Array[Byte](1, 2, 3), 2L -> Array[Byte](4, 5)))
    for (length <- 1 until whole.length if length != 15)
      assertThrows[Damaged](read(whole.take(length)))
  }

  test("a writer knows the times and the number of its rows, and is empty after its page is taken") {
    val writer = new PageWriter
    for (time <- Seq(-5L, 0L, 7L)) writer.add(time, 10)
    assert(writer.info(4L) === PageInfo(4L, -5L, 7L, 3L, 66))
    assert(writer.take().length === 66)
    assert(writer.isEmpty && writer.size === 0)
  }

  private def pages(all: PageInfo*): HeldPages = all.foldLeft(HeldPages.empty)(_ added _)

  test("a list of pages returns from its bytes as it was") {
    val list = pages(
      PageInfo(0L, -9L, 1L << 60, 3L, 100),
      PageInfo(7L, Long.MinValue / 4, Long.MinValue / 4, 1L, 12),
      PageInfo(8L, 5L, 5L, 1L << 40, Int.MaxValue))
    assert(HeldPages.decode(list.encoded) === list)
    assert(HeldPages.decode(HeldPages.empty.encoded) === HeldPages.empty)
    for (length <- 0 until list.encoded.length) assertThrows[Damaged](HeldPages.decode(list.encoded.take(length)))
  }

  test("pages are due by the smallest time in them") {
    val list = pages(PageInfo(0L, 10L, 30L, 3L, 9), PageInfo(1L, 20L, 20L, 1L, 9), PageInfo(2L, 31L, 40L, 2L, 9))
    assert(list.due(9L) === Nil)
    assert(list.due(20L).map(_.id) === Seq(0L, 1L))
    assert(list.times.map(_._1) === Some(10L) && list.rows === 6L)
    assert(list.without(0L).times.map(_._1) === Some(20L))
    assert(list.without(2L).nextId === 3L)
  }

  test("many small pages are merged, and few are not") {
    def small(count: Int) = pages((0 until count).map(id => PageInfo(id.toLong, 0L, 0L, 1L, 100)): _*)
    assert(small(64).toMerge === Nil)
    assert(small(65).toMerge.size === 65)
    assert(pages((0 until 65).map(id => PageInfo(id.toLong, 0L, 0L, 1L, 60000)): _*).toMerge === Nil)
  }

  test("pages grow with what is held, so that the list stays small") {
    def held(bytes: Long) = pages((0L until 4L).map(id => PageInfo(id, 0L, 0L, 1L, (bytes / 4).toInt)): _*)
    assert(held(1000L).pageBytes === 64 * 1024)
    assert(held(1L << 30).pageBytes === (1 << 30) / 2048)
    assert(held(8L << 30 >> 1).pageBytes <= 4 * 1024 * 1024)
  }
}
