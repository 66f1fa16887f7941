package io.tidemark.core.noted

import org.scalatest.funsuite.AnyFunSuite

/** What the marks of a log say, one position after the other. */
class NotedWritersSuite extends AnyFunSuite {
  import WriterHistorySuite._

  private def at(
      marks: Seq[Mark],
      read: Long,
      before: Option[WriterState] = None,
      latest: Option[Long] = None,
      latestBefore: Option[Long] = None): WriterProgress = {
    val histories = if (marks.isEmpty) Map.empty[String, WriterHistory] else Map("w" -> WriterHistory("w", marks))
    NotedWriters(histories, before.map("w" -> _).toMap, SourcePosition.Number(read), latest, latestBefore).writers("w")
  }

  private val three = Seq(number(0, 100, 10), number(1, 200, 20), number(2, 300, 30))

  test("a time is newly passed once") {
    val first = at(three, 25)
    assert(first.timeMillis === Some(200))
    assert(first.isActive)
    assert(first.state.nextMillis === Some(300))
    assert(first.next.map(_.number) === Some(2))
    assert(first.state.passed === Some(MarkId(1, 1)))
    assert(first.state.hasPending)
    val second = at(three, 25, Some(first.state))
    assert(second.timeMillis === None)
    assert(!second.isActive)
    assert(second.state === first.state)
    val last = at(three, 30, Some(second.state))
    assert(last.timeMillis === Some(300))
    assert(!last.state.hasPending)
    assert(last.state.nextMillis === None)
  }

  test("a mark behind a missing one is broken, and one that is only ahead of what is read is not") {
    def next(marks: Mark*)(names: String*) =
      NotedWriters(
        Map("w" -> WriterHistory("w", marks)),
        Map.empty,
        WriterHistorySuite.read(names: _*),
        None).writers("w")
    assert(!next(files(0, 1, "a"), files(1, 2, "b"))("a").isBroken)
    val broken = next(files(0, 1, "a"), files(2, 2, "c"))("a", "c")
    assert(broken.isBroken && broken.next.map(_.number) === Some(2))
    // The file of the first mark comes first.
    assert(!next(files(0, 1, "a"), files(2, 2, "c"))().isBroken)
    assert(!at(Seq(number(0, 100, 10), number(2, 200, 20)), 10).isBroken)
  }

  test("the first time that is not believed is told") {
    assert(at(three, 30, latest = Some(150)).farAheadMillis === Some(200))
    assert(at(three, 30, latest = Some(300)).farAheadMillis === None)
    assert(at(three, 30).farAheadMillis === None)
  }

  test("a writer with nothing passed is known, and active when its first mark is pending") {
    val first = at(three, 5)
    assert(first.state === WriterState(None, 0, hasPending = true, nextMillis = Some(100)))
    assert(first.isActive)
    assert(!at(three, 6, Some(first.state)).isActive)
  }

  test("an equal time does not make a writer active; alive does, and so does a first pending mark") {
    val state = at(three, 30).state
    val equal = three :+ number(3, 300, 40)
    assert(at(equal, 30, Some(state)).isActive)
    val pending = at(equal, 30, Some(state)).state
    assert(!at(equal, 40, Some(pending)).isActive)
    assert(at(three :+ alive(3), 30, Some(state)).isActive)
  }

  test("the last word is that of the last passed mark that said something new") {
    val marks = Seq(
      number(0, 100, 10).copy(writtenMillis = 7),
      number(1, 100, 20).copy(writtenMillis = 8),
      alive(2).copy(writtenMillis = 9))
    assert(at(marks, 5).state.lastActiveMillis === 7)
    assert(at(marks.take(2), 20).state.lastActiveMillis === 7)
    val all = at(marks, 20)
    assert(all.state.lastActiveMillis === 9)
    assert(at(Nil, 20, Some(all.state)).state.lastActiveMillis === 9)
  }

  test("a writer rests after idle or end, until more of it is known") {
    for (kind <- Seq(Mark.Idle, Mark.End)) {
      val marks = three :+ alive(3).copy(kind = kind)
      assert(!at(marks, 25).state.isResting)
      val resting = at(marks, 30)
      assert(resting.state.isResting)
      assert(at(marks, 31, Some(resting.state)).state.isResting)
      val more = at(marks :+ number(4, 400, 40), 31, Some(resting.state))
      assert(!more.state.isResting && more.state.hasPending)
    }
  }

  test("a purged log leaves the state as it was, and the next mark goes on from it") {
    val resting = at(three :+ alive(3).copy(kind = Mark.Idle), 30).state
    val gone = at(Nil, 30, Some(resting))
    assert(gone.state === resting)
    assert(gone.timeMillis === None && !gone.isActive)
    val next = at(Seq(number(9, 900, 90)), 90, Some(gone.state))
    assert(next.timeMillis === Some(900))
    assert(next.state.passed === Some(MarkId(1, 9)))
  }

  test("a time too far ahead is passed as alive, and looked at again when its time has come") {
    val marks = Seq(number(0, 100, 1), number(1, 5000, 2))
    val first = at(marks, 2, latest = Some(1000))
    assert(first.timeMillis === Some(100))
    assert(!first.state.hasPending)
    val early = at(marks, 2, Some(first.state), latest = Some(4999), latestBefore = Some(1000))
    assert(early.timeMillis === None)
    val due = at(marks, 2, Some(early.state), latest = Some(5000), latestBefore = Some(4999))
    assert(due.timeMillis === Some(5000) && due.isActive)
    val later = at(marks, 2, Some(due.state), latest = Some(6000), latestBefore = Some(5000))
    assert(later.timeMillis === None && !later.isActive)
  }

  test("a later life that fences off what was passed turns nothing back") {
    val passed = at(three, 30).state
    val next = three :+ alive(0, epoch = 2, after = Some(MarkId(1, 0))) :+ number(1, 250, 40, epoch = 2)
    val after = at(next, 35, Some(passed))
    assert(after.timeMillis === None)
    assert(after.state.passed === Some(MarkId(2, 0)))
    assert(at(next, 40, Some(after.state)).timeMillis === Some(250))
  }

  test("the upper bound is the largest next time, and none if a writer that is not left out has none") {
    val histories = Map(
      "a" -> WriterHistory("a", three),
      "b" -> WriterHistory("b", three.take(2)),
      "c" -> WriterHistory("c", Seq(number(0, 50, 15))))
    def upper(read: Long)(out: String*) =
      NotedWriters(histories, Map.empty, SourcePosition.Number(read), None).upperMillis(out.contains(_))
    assert(upper(5)() === Some(100))
    assert(upper(12)() === Some(200))
    assert(upper(15)() === None)
    assert(upper(15)("c") === Some(200))
    assert(upper(20)("b", "c") === Some(300))
    assert(upper(20)("a", "b", "c") === None)
  }

  test("the states are what the next position goes on from") {
    val histories = Map("a" -> WriterHistory("a", three))
    val first = NotedWriters(histories, Map.empty, SourcePosition.Number(10), None)
    assert(first.states.keySet === Set("a"))
    val second = NotedWriters(histories, first.states, SourcePosition.Number(20), None)
    assert(second.writers("a").timeMillis === Some(200))
  }
}
