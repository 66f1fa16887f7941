package io.tidemark.core.noted

import org.scalatest.funsuite.AnyFunSuite

/** Which marks of a writer count, and which are passed. */
class WriterHistorySuite extends AnyFunSuite {
  import WriterHistorySuite._

  test("marks are ordered by epoch and number, and a mark that is found twice counts once") {
    val marks = Seq(number(0, 100, 10), number(1, 200, 20), number(2, 300, 30))
    for (order <- marks.permutations)
      assert(WriterHistory("w", order ++ order).marks === marks)
  }

  test("a later life fences off marks behind the one that it follows") {
    val marks = Seq(
      number(0, 100, 10, epoch = 5),
      number(1, 900, 12, epoch = 5),
      alive(0, epoch = 6, after = Some(MarkId(5, 0))),
      number(1, 200, 20, epoch = 6))
    assert(WriterHistory("w", marks).marks.map(_.place) === Seq(MarkId(5, 0), MarkId(6, 0), MarkId(6, 1)))
  }

  test("without the first mark of a later life, no mark of an earlier life counts") {
    val marks = Seq(number(0, 100, 10, epoch = 5), number(3, 200, 20, epoch = 6))
    assert(WriterHistory("w", marks).marks.map(_.place) === Seq(MarkId(6, 3)))
  }

  test("the fence of the last life also holds for lives before the one that it follows") {
    val marks = Seq(
      number(0, 100, 1, epoch = 1),
      number(1, 110, 2, epoch = 1),
      alive(0, epoch = 2, after = Some(MarkId(1, 1))),
      alive(0, epoch = 3, after = Some(MarkId(1, 0))))
    assert(WriterHistory("w", marks).marks.map(_.place) === Seq(MarkId(1, 0), MarkId(3, 0)))
  }

  test("an absolute mark is passed although the one before it is missing") {
    val history = WriterHistory("w", Seq(number(0, 100, 10), number(7, 200, 20)))
    assert(Seq(9L, 10L, 19L, 20L).map(at => history.passed(SourcePosition.Number(at))) === Seq(0, 1, 1, 2))
  }

  test("a mark without a position is passed with the one before it, unless a mark is missing between") {
    val joined = WriterHistory("w", Seq(number(0, 100, 10), alive(1)))
    val apart = WriterHistory("w", Seq(number(0, 100, 10), alive(2)))
    assert(joined.passed(SourcePosition.Number(10)) === 2)
    assert(apart.passed(SourcePosition.Number(10)) === 1)
    assert(apart.passed(SourcePosition.Number(10), before = Some(MarkId(1, 1))) === 2)
  }

  test("a first mark without a position is passed only if it is number 0 of a first life") {
    val read = SourcePosition.Number(0)
    assert(WriterHistory("w", Seq(alive(0))).passed(read) === 1)
    assert(WriterHistory("w", Seq(alive(1))).passed(read) === 0)
    assert(WriterHistory("w", Seq(alive(0, epoch = 2, after = Some(MarkId(1, 4))))).passed(read) === 0)
    assert(WriterHistory("w", Seq(alive(1))).passed(read, before = Some(MarkId(1, 0))) === 1)
  }

  test("files are a chain, and no mark behind a missing one is passed") {
    val chain = Seq(files(0, 100, "a"), files(1, 200, "b"), files(3, 400, "d"))
    assert(WriterHistory("w", chain).passed(read("a", "b", "d")) === 2)
    assert(WriterHistory("w", chain).passed(read("b", "d")) === 0)
    assert(WriterHistory("w", chain).passed(read("a", "b", "d"), before = Some(MarkId(1, 2))) === 3)
  }

  test("a purged beginning of a chain is passed when all listed files are read, and a lost one never") {
    val chain = Seq(files(5, 100, "a"), files(6, 200, "b"))
    val history = WriterHistory("w", chain)
    assert(history.passed(read("a", "b")) === 0)
    assert(history.waitsForPurged(0, None) && !history.isBroken(0, None))
    assert(history.passed(drained("a")) === 1)
    assert(history.passed(drained("a", "b")) === 2)
    assert(WriterHistory("w", chain, promised = Seq(MarkId(1, 4))).passed(drained("a", "b")) === 0)
    assert(WriterHistory("w", chain, promised = Seq(MarkId(1, 5))).passed(drained("a", "b")) === 2)
    val fenced = files(9, 50, "z", epoch = 0) +: chain
    assert(WriterHistory("w", fenced).passed(drained("a", "b")) === 0)
    assert(!WriterHistory("w", Seq(files(0, 100, "a"))).waitsForPurged(0, None))
  }

  test("marks that were purged behind the last one that was passed are waited for, too") {
    val history = WriterHistory("w", Seq(files(5, 100, "a"), files(6, 200, "b")))
    val before = Some(MarkId(1, 2))
    assert(history.passed(read("a", "b"), before) === 0 && history.waitsForPurged(0, before))
    assert(history.passed(drained("a", "b"), before) === 2)
    assert(history.passed(read("a", "b"), before = Some(MarkId(1, 4))) === 2)
  }

  test("what is missing before a mark that was passed earlier does not matter") {
    val chain = Seq(files(5, 100, "a"), files(6, 200, "b"), files(7, 300, "c"))
    val history = WriterHistory("w", chain, promised = Seq(MarkId(1, 0)))
    assert(history.passed(read("b")) === 0)
    assert(history.passed(read("b"), before = Some(MarkId(1, 4))) === 0)
    assert(history.passed(read("b"), before = Some(MarkId(1, 5))) === 2)
    assert(history.passed(read(), before = Some(MarkId(1, 9))) === 3)
  }

  test("a new life goes on from the mark that it follows, though later ones had been passed") {
    val chain = Seq(
      files(0, 100, "a", epoch = 5),
      alive(0, epoch = 6, after = Some(MarkId(5, 0))),
      files(1, 200, "b", epoch = 6))
    assert(WriterHistory("w", chain).passed(read("b"), before = Some(MarkId(5, 3))) === 3)
    assert(WriterHistory("w", chain).passed(read("b")) === 0)
  }

  test("another kind of position is refused, with both kinds and the writer") {
    val kafka = SourcePosition.Kafka(Map("orders" -> Map(0 -> 1L)))
    val refused = intercept[PositionMismatch](WriterHistory("w", Seq(number(0, 100, 10))).passed(kafka))
    assert((refused.writer, refused.position, refused.other) === (("w", "number", "kafka")))
    intercept[PositionMismatch](WriterHistory("w", Seq(files(0, 100, "a"))).passed(kafka))
    intercept[PositionMismatch](WriterHistory("w", Seq(number(0, 100, 10))).passed(read("a")))
    val sink = files(1, 200, "a").copy(position = Some(Position.SinkBatch(7)))
    intercept[PositionMismatch](WriterHistory("w", Seq(files(0, 100, "a"), sink)).passed(read("a")))
  }

  test("a topic that is not read is not compared, and an unknown partition is not passed") {
    val noted = Position.Kafka(Map("orders" -> Map(0 -> 10L), "returns" -> Map(0 -> 99L)))
    def passed(offsets: (String, Map[Int, Long])*) = SourcePosition.Kafka(offsets.toMap).hasPassed("w", noted)
    assert(passed("orders" -> Map(0 -> 10L)))
    assert(!passed("orders" -> Map(1 -> 10L)))
    assert(!passed("orders" -> Map(0 -> 10L), "returns" -> Map(0 -> 98L)))
    assert(passed("other" -> Map.empty))
  }

  test("versions of another table, and any version before one has been read, are not passed") {
    val noted = Position.Delta("t", 12)
    assert(SourcePosition.Delta("t", Some(12)).hasPassed("w", noted))
    assert(!SourcePosition.Delta("t", Some(11)).hasPassed("w", noted))
    assert(!SourcePosition.Delta("t", None).hasPassed("w", noted))
    assert(!SourcePosition.Delta("u", Some(12)).hasPassed("w", noted))
  }

  test("a writer is done after its last mark says so, unless a file of it is missing") {
    val end = alive(2).copy(kind = Mark.End)
    assert(WriterHistory("w", Seq(number(0, 1, 1), end)).isDone)
    assert(!WriterHistory("w", Seq(number(0, 1, 1), end, alive(3))).isDone)
    assert(!WriterHistory("w", Seq(files(0, 1, "a"), end)).isDone)
    assert(WriterHistory("w", Seq(files(0, 1, "a"), alive(1), end)).isDone)
  }

  test("a time that is not believed says only that the writer is alive, and hides no lower time") {
    val history = WriterHistory("w", Seq(number(0, 100, 1), number(1, 9000, 2), number(2, 200, 3)))
    assert(history.lastNote(3) === Some((1, 9000L)))
    assert(history.believed(1000).lastNote(3) === Some((2, 200L)))
    assert(history.believed(1000).marks(1).kind === Mark.Alive)
    assert(history.believed(9000) eq history)
  }

  test("only a time above all before is a note") {
    val history = WriterHistory("w", Seq(100, 90, 100, 110).zipWithIndex.map { case (t, n) => number(n, t, n * 10) })
    assert(Range(0, 4).map(history.isNote) === Seq(true, false, false, true))
    assert(Range(0, 5).map(history.lastNote(_).map(_._2)) === Seq(None, Some(100), Some(100), Some(100), Some(110)))
    assert(Range(0, 5).map(history.nextNoteMillis) === Seq(Some(100), Some(110), Some(110), Some(110), None))
  }
}

object WriterHistorySuite {

  def mark(number: Long, kind: Mark.Kind, time: Option[Long], position: Option[Position], epoch: Long): Mark =
    Mark("w", epoch, number, kind, time, writtenMillis = 0, position)

  def number(number: Long, time: Long, at: Long, epoch: Long = 1): Mark =
    mark(number, Mark.Note, Some(time), Some(Position.Number(at)), epoch)

  def files(number: Long, time: Long, name: String, epoch: Long = 1): Mark =
    mark(number, Mark.Note, Some(time), Some(Position.Files(Set(name))), epoch)

  def alive(number: Long, epoch: Long = 1, after: Option[MarkId] = None): Mark =
    mark(number, Mark.Alive, None, None, epoch).copy(after = after)

  def read(names: String*): SourcePosition = new SourcePosition.Files(names.toSet, _ => false)

  /** These files have been read, and no others exist. */
  def drained(names: String*): SourcePosition = drained(names.toSet(_))

  /** All files have been read. */
  val everything: SourcePosition = drained(_ => true)

  private def drained(hasRead: String => Boolean): SourcePosition = new SourcePosition.Files(hasRead, _ => false) {
    override def isDrained: Boolean = true
  }
}
