package io.tidemark.core.support

import scala.collection.mutable

import io.tidemark.core.splits.{OnReturn, SplitState}

/** The rule of the coalescer, written down as plainly as it goes: whole scans over objects, nothing remembered that
  * could be worked out.
  */
final class NaiveCoalescer(onReturn: OnReturn) {
  import NaiveCoalescer._

  private val inputs = mutable.ArrayBuffer.empty[In]
  private var reached: Option[Long] = None

  def size: Int = inputs.size
  def watermark: Option[Long] = reached
  def isIdle: Boolean = !inputs.exists(_.isActive) && inputs.exists(_.state == "idle")
  def state(input: Int): String = inputs(input).state
  def clock(input: Int): Option[Long] = inputs(input).clock
  def lastActive: Seq[Long] = inputs.toSeq.map(_.lastActive)

  /** When any was last active of those that have a clock. */
  def lastRows: Option[Long] = inputs.filter(_.clock.nonEmpty).map(_.lastActive).maxOption

  def activeLater(more: Long, now: Long): Unit =
    inputs.foreach(in => in.lastActive = math.max(in.lastActive, math.min(in.lastActive + more, now)))

  def add(now: Long): Unit = { inputs += new In(now); () }

  def observe(input: Int, clock: Option[Long], now: Long): Unit = {
    observeOnly(input, clock, now)
    settle()
  }

  def observeAll(clocks: Seq[Option[Long]], now: Long): Unit = {
    clocks.zipWithIndex.foreach { case (clock, input) => if (clock.nonEmpty) observeOnly(input, clock, now) }
    settle()
  }

  /** Makes these inputs active together, without a clock. */
  def wake(woken: Seq[Int], now: Long): Unit = {
    woken.foreach(observeOnly(_, None, now))
    settle()
  }

  /** Those that are idle are active again, with the last active time that they had. */
  def wakeAll(): Unit = {
    inputs.indices.filter(state(_) == "idle").foreach(input => observeOnly(input, None, inputs(input).lastActive))
    settle()
  }

  def raise(to: Long): Unit = reached = Some(reached.fold(to)(math.max(_, to)))

  def idle(input: Int): Unit = {
    if (inputs(input).isActive) inputs(input).state = "idle"
    settle()
  }

  def idleSince(limit: Long): Unit = {
    inputs.foreach(in => if (in.isActive && in.lastActive <= limit) in.state = "idle")
    settle()
  }

  def end(input: Int): Unit = {
    inputs(input).state = "ended"
    settle()
  }

  private def observeOnly(input: Int, clock: Option[Long], now: Long): Unit = {
    val in = inputs(input)
    in.lastActive = now
    in.clock = (in.clock ++ clock).maxOption
    val behind = reached.exists(r => in.clock.forall(_ < r))
    in.state match {
      case "idle" | "catching up" => in.state = if (onReturn == OnReturn.CatchUp && behind) "catching up" else "active"
      case _ => ()
    }
  }

  private def settle(): Unit = {
    val to =
      if (!inputs.exists(_.isActive)) inputs.flatMap(_.clock).maxOption
      else {
        val taking = inputs.filter(_.state == "active")
        // One without a clock holds all the others.
        if (taking.isEmpty || taking.exists(_.clock.isEmpty)) None else taking.flatMap(_.clock).minOption
      }
    reached = (reached ++ to).maxOption
  }
}

object NaiveCoalescer {

  /** What the states of the engine are called here. */
  val names: Map[SplitState, String] =
    Map(SplitState.Active -> "active", SplitState.Idle -> "idle", SplitState.CatchingUp -> "catching up")

  private final class In(var lastActive: Long) {
    var clock: Option[Long] = None
    var state: String = "active"
    def isActive: Boolean = state == "active" || state == "catching up"
  }
}
