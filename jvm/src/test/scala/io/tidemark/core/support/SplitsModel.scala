package io.tidemark.core.support

import io.tidemark.core.Watermark
import io.tidemark.core.splits.{MaxEventTimes, OnReturn, SplitNameTable, Splits}

import org.scalacheck.Gen

/** What [[io.tidemark.core.splits.Splits]] say, worked out from all changes since the beginning whenever it is asked. */
private[core] final case class SplitsModel(onReturn: OnReturn, changes: Vector[SplitsModel.Change] = Vector.empty) {
  import SplitsModel._

  def after(change: Change): SplitsModel = copy(changes = changes :+ change)

  /** The time of the next change, if it takes this long. */
  def now(passed: Long): Long = changes.map(_.passed).sum + passed

  lazy val status: Status = {
    val clocks = new NaiveCoalescer(onReturn)
    var names = Vector.empty[String]
    var now = 0L
    def add(name: String): Unit = if (!names.contains(name)) {
      names :+= name
      clocks.add(now)
    }
    changes.foreach { change =>
      now += change.passed
      change match {
        case Observed(rows, _) =>
          rows.foreach { case (name, _) => add(name) }
          clocks.observeAll(names.map(name => rows.collect { case (`name`, time) => time }.maxOption), now)
        case Known(more, _) => more.foreach(add)
        case Awake(some, _) =>
          some.foreach(add)
          if (some.nonEmpty) clocks.wake(some.map(names.indexOf(_)), now)
        case AllAwake => clocks.wakeAll()
        case Silent(ago) => if (names.nonEmpty) clocks.idleSince(now - ago)
        case Later(more) => clocks.activeLater(more, now)
        case Raised(to) => clocks.raise(to)
      }
    }
    val each = names.indices.map { i =>
      OneSplit(names(i), clocks.state(i), clocks.clock(i), clocks.lastActive(i))
    }
    Status(each, clocks.watermark, names.nonEmpty && clocks.isIdle, clocks.lastRows)
  }
}

private[core] object SplitsModel {

  final case class OneSplit(name: String, state: String, clock: Option[Long], lastActive: Long)

  final case class Status(
      splits: Seq[OneSplit],
      watermark: Option[Long],
      isIdle: Boolean,
      lastRows: Option[Long]) {

    /** The numbers of splits that differ from those of an earlier version whose last active times are all later by so much;
      * `None` if that one had other splits.
      */
    def changedSince(before: Status, later: Long): Option[Seq[Int]] =
      Option.when(splits.map(_.name).startsWith(before.splits.map(_.name))) {
        val expected = before.splits.map(split => split.copy(lastActive = split.lastActive + later))
        splits.indices.filter(i => !expected.lift(i).contains(splits(i)))
      }
  }

  /** What the splits themselves say. */
  def status(all: Splits): Status = {
    val each = (0 until all.size).map { i =>
      OneSplit(all.name(i).head.get, NaiveCoalescer.names(all.state(i)), all.clock(i), all.lastActive(i))
    }
    assert(all.active == each.count(_.state != "idle") && all.idle == each.count(_.state == "idle"))
    assert(all.catchingUp == each.count(_.state == "catching up"))
    assert(all.largest == each.flatMap(_.clock).maxOption)
    Status(each, all.watermark.millis, all.watermark.isIdle, all.lastRows)
  }

  /** @param passed how much later than the change before it is, ms */
  sealed abstract class Change(val passed: Long)
  final case class Observed(rows: Seq[(String, Long)], later: Long) extends Change(later)
  final case class Known(names: Seq[String], later: Long) extends Change(later)
  final case class Awake(names: Seq[String], later: Long) extends Change(later)
  final case object AllAwake extends Change(0)
  final case class Silent(ago: Long) extends Change(0)
  final case class Later(more: Long) extends Change(0)
  final case class Raised(to: Long) extends Change(0)

  private val name = Gen.choose(0, 40).map(n => s"device-$n")
  private val names = Gen.choose(0, 5).flatMap(Gen.listOfN(_, name))
  private val later = Gen.choose(0L, 20L)

  val change: Gen[Change] = Gen.frequency(
    6 -> Gen.zip(Gen.choose(0, 12).flatMap(Gen.listOfN(_, Gen.zip(name, Gen.choose(-100L, 400L)))), later)
      .map((Observed(_, _)).tupled),
    1 -> Gen.zip(names, later).map((Known(_, _)).tupled),
    1 -> Gen.zip(names, later).map((Awake(_, _)).tupled),
    1 -> Gen.const(AllAwake),
    3 -> Gen.choose(0L, 60L).map(Silent(_)),
    1 -> Gen.choose(0L, 50L).map(Later(_)),
    1 -> Gen.choose(0L, 300L).map(Raised(_)))

  private def encoded(names: Seq[String]) = names.map(name => SplitNameTable.encode(Seq(Some(name))))

  /** The splits after a change at this time. */
  def changed(all: Splits, change: Change, now: Long, onReturn: OnReturn): Splits = change match {
    case Observed(rows, _) =>
      val times = new MaxEventTimes
      rows.foreach { case (name, time) => times.observe(SplitNameTable.encode(Seq(Some(name))), time) }
      all.observe(times, 0L, now, onReturn)
    case Known(names, _) => all.withNames(encoded(names), now, onReturn)
    case Awake(names, _) => all.awake(encoded(names), now, onReturn)
    case AllAwake => all.allAwake(onReturn)
    case Silent(ago) =>
      val asked = all.watermarkSince(now - ago)
      val silent = all.idleSince(now - ago, onReturn)
      assert(asked == silent.watermark)
      silent
    case Later(more) => all.activeLater(more, now)
    case Raised(to) => all.atLeast(Watermark.At(to))
  }
}
