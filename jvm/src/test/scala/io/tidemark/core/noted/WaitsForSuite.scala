package io.tidemark.core.noted

import org.scalatest.funsuite.AnyFunSuite

/** What a report says of a mark that is not passed. */
class WaitsForSuite extends AnyFunSuite {

  private def waits(position: Position, read: SourcePosition): Option[String] =
    WaitsFor(WriterHistorySuite.mark(0, Mark.Note, Some(7), Some(position), epoch = 1), read).map(_.toString)

  test("the first partition that has not been read so far, of those that are read at all") {
    val noted = Position.Kafka(Map("orders" -> Map(0 -> 5L, 2 -> 4711L, 3 -> 9L), "other" -> Map(0 -> 1L)))
    def read(offsets: (Int, Long)*) = SourcePosition.Kafka(Map("orders" -> offsets.toMap))
    assert(waits(noted, read(0 -> 5, 2 -> 4660)) === Some("orders-2 at 4711 (read: 4660)"))
    assert(waits(noted, read(0 -> 5, 2 -> 4711)) === Some("orders-3 at 9"))
    assert(waits(noted, read(0 -> 5, 2 -> 4711, 3 -> 9)) === None)
    assert(waits(noted, SourcePosition.Nothing) === Some("orders-0 at 5"))
  }

  test("a version, a batch of a sink, a number, and the file that was looked for") {
    val version = Position.Delta("t", 12)
    assert(waits(version, SourcePosition.Delta("t", Some(10))) === Some("the table's version at 12 (read: 10)"))
    assert(waits(version, SourcePosition.Delta("u", Some(12))) === Some("table t"))
    assert(waits(Position.Number(9), SourcePosition.Number(1)) === Some("the source's number at 9 (read: 1)"))
    val files = new SourcePosition.Files(_ => false, _ => false) {
      override def isKnownUnread(name: String): Boolean = name == "b"
    }
    assert(waits(Position.SinkBatch(7), files) === Some("the sink's batch at 7"))
    assert(waits(Position.Files(Set("a", "b")), files) === Some("file b"))
  }

  test("a mark without a position waits for nothing that is read") {
    assert(WaitsFor(WriterHistorySuite.alive(0), SourcePosition.Number(1)) === None)
  }
}
