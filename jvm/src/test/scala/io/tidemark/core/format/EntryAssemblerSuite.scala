package io.tidemark.core.format

import scala.util.Try

import io.tidemark.core.bytes.Damaged
import io.tidemark.core.format.EntryCodec.{Encoded, Written}
import io.tidemark.core.memory.WatermarkEntry
import io.tidemark.core.support.ManySplits

import org.scalatest.funsuite.AnyFunSuite

/** Entries that have only what has changed. */
class EntryAssemblerSuite extends AnyFunSuite {
  private val Many = EntryCodec.MostWhole + 200

  /** Entries and their bytes: all splits at first, some of them later, and new ones. */
  private def written(
      seed: Long,
      batches: Int,
      idleAfter: Option[Long] = None,
      stops: Int => Boolean = _ => false): Vector[(WatermarkEntry, Encoded)] = {
    val query = new ManySplits(seed, idleAfter)
    (0 until batches).foldLeft(Vector.empty[(WatermarkEntry, Encoded)]) { (all, batch) =>
      if (stops(batch)) query.notRunning(3600000L + batch)
      val entry = query.next(if (batch == 0) 0 until Many else query.some(0.02, Many + 5 * batch))
      val before = all.lastOption.map { case (before, encoded) => Written(before, encoded.checksum) }
      all :+ (entry -> EntryCodec.encode(entry, before))
    }
  }

  private def snapshot(entry: WatermarkEntry, encoded: Encoded): (Array[Byte], Array[Byte]) = {
    val names = SplitsSnapshot.encodeNames(entry)
    SplitsSnapshot.encode(Written(entry, encoded.checksum), entry.batch -> SplitsSnapshot.checksumOf(names)) -> names
  }

  private def read(parts: Array[Byte]*): WatermarkEntry = {
    val read = new EntryAssembler
    parts.foreach(read.next)
    read.entry
  }

  private def read(snapshot: (Array[Byte], Array[Byte]), parts: Array[Byte]*): WatermarkEntry = {
    val read = new EntryAssembler
    read.names(snapshot._2, SplitsSnapshot.header(snapshot._1))
    read.states(snapshot._1)
    parts.foreach(read.next)
    read.entry
  }

  for ((what, idleAfter) <- Seq("" -> None, ", with splits that become idle and return" -> Some(20000L)))
    test(s"an entry is rebuilt from a whole entry and the changes after it$what") {
      for (seed <- 1 to 10) {
        val all = written(seed.toLong, 20, idleAfter)
        // Splits are all written when most of them become idle in one batch.
        assert(all.head._2.isWhole && all.count(_._2.isWhole) < 5)
        for (upTo <- all.indices) assert(read(all.take(upTo + 1).map(_._2.data): _*) === all(upTo)._1)
        if (idleAfter.nonEmpty) assert(all.exists(_._1.origins.values.exists(_.splits.idle > 0)))
      }
    }

  test("an entry after a time without a running query has only what has changed since") {
    for (seed <- 1 to 10) {
      val all = written(seed.toLong, 20, stops = _ % 3 == 2)
      assert(all.count(_._2.isWhole) === 1)
      for (upTo <- all.indices) assert(read(all.take(upTo + 1).map(_._2.data): _*) === all(upTo)._1)
    }
  }

  test("an entry is rebuilt from a snapshot, its names and the changes after it") {
    for (seed <- 1 to 10) {
      val all = written(seed.toLong, 12, Some(20000L), stops = _ % 4 == 2)
      for (from <- all.indices.init; upTo <- from + 1 until all.size) {
        val after = all.slice(from + 1, upTo + 1).map(_._2.data)
        assert(read((snapshot _).tupled(all(from)), after: _*) === all(upTo)._1)
      }
    }
  }

  test("an entry is written whole if it has few splits or if all splits of an input are new") {
    val few = new ManySplits(1)
    val first = few.next(0 until EntryCodec.MostWhole)
    assert(EntryCodec.encode(few.next(Seq(1)), Some(Written(first, 1))).isWhole)
    val many = new ManySplits(1)
    val before = many.next(0 until Many)
    many.begunAnew()
    assert(EntryCodec.encode(many.next(0 until Many), Some(Written(before, 1))).isWhole)
  }

  test("changes of 10,000 among a million splits take less than 100 kB, and a snapshot takes less than 8 MB") {
    val query = new ManySplits(7)
    val Million = 1000000
    val names = query.next(0 until Million)
    // Splits have rows in different batches, as after a while.
    (1 to 20).foreach(part => query.next((0 until Million).filter(_ % 20 == part - 1)))
    val before = query.entry
    val whole = SplitsSnapshot.encode(Written(before, 0), 0L -> 0)
    assert(whole.length < 8000000)
    val after = query.next(query.some(0.01, Million))
    val changes = EntryCodec.encode(after, Some(Written(before, 0)))
    assert(!changes.isWhole && changes.data.length < 100000)
    info(s"${changes.data.length} bytes of changes, ${whole.length} of a snapshot, " +
      s"${SplitsSnapshot.encodeNames(names).length} of names")
  }

  test("changes that do not follow the entry before them are refused") {
    val (all, other) = (written(1, 4), written(2, 4))
    for (parts <- Seq(Seq(all(0), all(2)), Seq(all(0), other(1)), Seq(all(1)), Seq(all(0), all(1), all(1))))
      assert(whyNot(read(parts.map(_._2.data): _*)).contains("entry before it"), parts.map(p => all.indexOf(p)))
    assert(whyNot(read((snapshot _).tupled(all(1)), all(3)._2.data)).contains("entry before it"))
    val names = SplitsSnapshot.encodeNames(all(2)._1)
    val mixed = (snapshot _).tupled(all(1)).copy(_2 = names)
    assert(whyNot(read(mixed, all(2)._2.data)).contains("names are not those"))
  }

  private def whyNot(read: => WatermarkEntry): String =
    Try(read).fold({ case e: Damaged => e.why; case e => throw e }, _ => "")

  test("every changed byte and every cut in a file of changes is detected") {
    val all = written(3, 2)
    detected(all(1)._2.data)(data => read(all(0)._2.data, data))
  }

  test("changed bytes and cuts in a snapshot or in its names are detected") {
    val all = written(3, 3)
    val (states, names) = snapshot(all(1)._1, all(1)._2)
    // Some of the many bytes are changed, one after the other.
    for ((bytes, read) <- Seq[(Array[Byte], Array[Byte] => WatermarkEntry)](
        states -> (data => read(data -> names, all(2)._2.data)),
        names -> (data => read(states -> data, all(2)._2.data)))) detected(bytes, step = 13)(read)
  }

  private def detected(bytes: Array[Byte], step: Int = 1)(read: Array[Byte] => WatermarkEntry): Unit =
    for (index <- bytes.indices by step) {
      val flipped = bytes.clone()
      flipped(index) = (flipped(index) ^ 1 << index % 8).toByte
      for (data <- Seq(flipped, bytes.take(index))) {
        val found = Try(read(data))
        assert(found.failed.toOption.exists(e => e.isInstanceOf[Damaged] || e.isInstanceOf[SectionFormat.Newer]), index)
      }
    }
}
