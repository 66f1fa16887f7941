package io.tidemark.core.memory

import io.tidemark.core.{OriginName, Watermark}
import io.tidemark.core.plan.{Decision, Floors}
import io.tidemark.core.support.Plans

import Plans._
import org.scalatest.funsuite.AnyFunSuite

class OriginSourcesSuite extends AnyFunSuite {

  private def called(names: String*) = OriginSources(names, areNames = true)
  private def looking(like: String*) = OriginSources(like, areNames = false)
  private def of(key: String, ordinal: Int) = OriginName(key, ordinal)

  /** The names of origins of the key `t`. */
  private def names(now: OriginSources*)(known: Option[OriginSources]*): Seq[String] =
    OriginSources.names(now.map("t" -> _), before(known: _*)).map(_.toString)

  private def before(known: Option[OriginSources]*): OriginSources.Known =
    known.zipWithIndex.map { case (sources, ordinal) => of("t", ordinal) -> sources }.toMap

  private def exchanged(now: OriginSources*)(known: Option[OriginSources]*): Seq[Set[OriginName]] =
    OriginSources.exchanged(now.zipWithIndex.map { case (source, i) => of("t", i) -> source }.toMap, before(known: _*))

  private val (fast, slow, third) = (called("fast"), called("slow"), called("third"))
  private val (a, b, c) = (looking("a"), looking("b"), looking("c"))

  test("origins of the same key are numbered in plan order") {
    val asked = Seq("a" -> a, "b" -> fast, "a" -> b)
    assert(OriginSources.names(asked, Map.empty) == Seq(of("a", 0), of("b", 0), of("a", 1)))
    assert(names(fast, slow)() == Seq("t", "t#1"))
  }

  test("an origin whose source has a name is found by that name, wherever it is now") {
    assert(names(fast, slow)(Some(fast), Some(slow)) == Seq("t", "t#1"))
    assert(names(slow, fast)(Some(fast), Some(slow)) == Seq("t#1", "t"))
    assert(names(slow)(Some(fast), Some(slow)) == Seq("t#1"))
  }

  test("an origin whose source has a new name is a new one") {
    assert(names(slow, third, fast)(Some(fast), Some(slow)) == Seq("t#1", "t#2", "t"))
    assert(names(third)(Some(fast)) == Seq("t#1"))
  }

  test("an origin that reads one more source, or one less, is found by the others") {
    val both = called("fast", "slow")
    assert(names(both)(Some(fast)) == Seq("t"))
    assert(names(slow)(Some(both)) == Seq("t"))
    assert(names(both, fast)(Some(slow), Some(fast)) == Seq("t", "t#1"))
  }

  test("several origins that read one source are found by their order") {
    assert(names(fast, slow, fast)(Some(fast), Some(fast), Some(slow)) == Seq("t", "t#2", "t#1"))
  }

  test("an entry without sources gives origins their names by plan order") {
    assert(names(slow, fast)(None, None) == Seq("t", "t#1"))
    assert(names(a, b)(None, None) == Seq("t", "t#1"))
    assert(exchanged(b, a)(None, None).isEmpty)
  }

  test("origins without names keep their places beside origins with names") {
    assert(names(a, slow, b)(Some(slow), Some(a), Some(b)) == Seq("t#1", "t", "t#2"))
  }

  test("sources without names have changed places if one of them is where another one was") {
    assert(exchanged(b, a)(Some(a), Some(b)) == Seq(Set(of("t", 0), of("t", 1))))
    assert(exchanged(b, c)(Some(a), Some(b)) == Seq(Set(of("t", 0), of("t", 1))))
    assert(exchanged(a, b)(Some(a), Some(b)).isEmpty)
    // Another option of a source, or two sources that look alike, are not a change of places.
    assert(exchanged(a, c)(Some(a), Some(b)).isEmpty)
    assert(exchanged(a, a)(Some(a), Some(a)).isEmpty)
    assert(exchanged(slow, fast)(Some(fast), Some(slow)).isEmpty)
  }

  test("leveled origins have the least watermark of theirs, and others keep their own") {
    val entry = WatermarkEntry(
      3,
      5000,
      5000,
      decided("x" -> at(10), "y" -> at(40), "z" -> at(5)),
      Map(
        named("x") -> state(at(20), Some(25)),
        named("y") -> OriginState(state(at(60), Some(65)).splits, silent = true),
        named("z") -> state(at(7), Some(9))),
      Floors.none,
      Map.empty)
    val level = entry.leveled(Set(named("x"), named("y")))
    assert(level.decision == Decision.none.copy(origins =
      Map(named("x") -> at(10), named("y") -> at(10), named("z") -> at(5))))
    assert(level.standing == Decision.none.copy(origins =
      Map(named("x") -> at(20), named("y") -> at(20), named("z") -> at(7))))
    val unknown = entry.copy(origins = entry.origins.updated(named("x"), OriginState.initial))
    assert(unknown.leveled(Set(named("x"), named("y"))).standing.origin(named("y")) == Watermark.Unknown)
  }
}
