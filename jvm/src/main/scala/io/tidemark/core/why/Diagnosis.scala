package io.tidemark.core.why

import io.tidemark.core.{Input, OriginName, Side, Watermark}
import io.tidemark.core.plan.{AttributedWatermark, InputWatermarks, OperatorWatermarks, PlanShape}
import io.tidemark.core.why.Situation.Origin

/** Decides why nothing comes out of a query. The cases are tried in the order of [[Diagnosis.verdict]]: rows that are lost
  * come first, then what holds results back.
  *
  * Something is held back if it would come out, were all inputs as far as the one furthest ahead. Inputs are rarely at the
  * same time, so the leading one must have passed the next window's end. Where no window is known, it must be ahead by more
  * than the delay of the input behind, which is how far rows may be apart by the user's own word.
  */
final class Diagnosis private (of: Situation) {
  import Diagnosis._

  def verdict: Verdict = operators match {
    case Nil => Verdict.NoOperatorWaits
    case some if of.emitsAll => Verdict.EmitsAll(some.head.operator)
    case some => lost.orElse(held(some)).orElse(losing).getOrElse(flowing(some))
  }

  /** The stateful operators that no other one reads, the one that is furthest behind first. */
  private val operators: Seq[Waiting] =
    top(of.shape).filterNot(isNeverMoved).map(shape => new Waiting(shape, watermarksOf(shape))).sortBy(_.reached.millis)

  /** Whether no watermark does anything there, as at a limit and at a function with state that sets no timeouts. */
  private def isNeverMoved(shape: PlanShape): Boolean = shape match {
    case stateful: PlanShape.Stateful => stateful.emitsAtOnce && stateful.eviction == PlanShape.Eviction.ByItself
    case _ => false
  }

  private def watermarksOf(shape: PlanShape): Seq[InputWatermarks] =
    PlanShape.inputsOf(shape).flatMap(of.watermarks.inputs.get)

  /** Rows that are dropped: nothing of them comes out, whatever the watermark does. */
  private def lost: Option[Verdict] = PlanShape.postOrder(of.shape).flatMap { shape =>
    for {
      input <- PlanShape.inputsOf(shape)
      rows <- of.lastRows.get(input) if rows.late > 0 && rows.late == rows.all
    } yield allLate(shape, input, rows)
  }.headOption

  private def allLate(shape: PlanShape, input: Input, rows: Situation.Rows): Verdict = {
    val judges = PlanShape.judgedByAll(shape, input.side).flatMap(of.origins.get)
    judges.find(_.watermark.millis.exists(isFarAhead)) match {
      case Some(origin) =>
        val eventTime = origin.maxEventTimeMillis.orElse(origin.watermark.millis).get
        InputVerdict.FarAhead(operator(shape), origin.name, eventTime, of.nowMillis, rows.late)
      case None => Verdict.AllLate(operator(shape), judges.headOption.map(_.name), rows.late, rows.mostMillis)
    }
  }

  /** Rows that are dropped again and again, while others are not. */
  private def losing: Option[Verdict] = PlanShape.postOrder(of.shape).flatMap { shape =>
    for {
      input <- PlanShape.inputsOf(shape)
      batches <- of.recentRows.get(input) if batches.count(_.late > 0) >= SeveralBatches
      rows = batches.reduce(_ and _) if rows.late >= rows.all / 100 + 1
    } yield {
      val judges = PlanShape.judgedByAll(shape, input.side)
      val origin = Option.when(judges.size == 1)(judges.head).flatMap(of.origins.get)
      Verdict.SomeLate(
        operator(shape),
        origin.map(_.name),
        rows.late,
        rows.all,
        batches.size,
        rows.mostMillis,
        // A row at the watermark is late.
        origin.map(_.delayMillis + rows.mostMillis + 1),
        origin.exists(_.isSplit))
    }
  }.headOption

  private def isFarAhead(millis: Long): Boolean = Situation.isFarAhead(millis, of.nowMillis)

  private def held(some: Seq[Waiting]): Option[Verdict] =
    some.iterator.flatMap(waiting => cases.iterator.flatMap(_(waiting)).nextOption()).nextOption()

  // The first one that applies to an operator tells what holds it.
  private def cases: Seq[Waiting => Option[Verdict]] = Seq(
    neverEvictsItself,
    clockFarAhead,
    byMark,
    noEventTime,
    noDataBatches,
    joinWaits,
    allSilent,
    bySplit,
    byInput,
    neverEvicts)

  /** Nothing is compared with a clock that is wrong: the others would seem to be behind, and the advice to leave one out would
    * lose all its rows. If all are far ahead, the query is about the future. What writers note need be no clock times.
    */
  private def clockFarAhead(waiting: Waiting): Option[Verdict] = {
    val found = for {
      reached <- waiting.reached.millis.toSeq if !isFarAhead(reached)
      origin <- below(waiting.shape) if !origin.isNoted
      clock <- (origin.largestClockMillis ++ origin.watermark.millis).maxOption if isFarAhead(clock)
    } yield InputVerdict.ClockFarAhead(waiting.operator, origin.name, origin.farAhead, clock, of.nowMillis)
    found.headOption
  }

  /** A writer whose marks no longer count will hold the watermark, even if it is not behind the others yet. */
  private def byMark(waiting: Waiting): Option[Verdict] = {
    val found = for (origin <- below(waiting.shape); split <- origin.last; fault <- split.fault)
      yield InputVerdict.HeldByMark(waiting.operator, origin.name, split.name, fault)
    found.headOption
  }

  private def noEventTime(waiting: Waiting): Option[Verdict] = {
    val origins = below(waiting.shape)
    def undefined = origins.find(origin => origin.watermark.millis.isEmpty && !origin.watermark.isIdle)
    // A row without an event time does not end a silence, so there may have been many of them.
    def neverAny =
      origins.headOption.filter(_ => origins.forall(origin => origin.watermark.millis.isEmpty && !origin.advances))
    val found = origins.find(origin => !origin.isNoted && origin.maxEventTimeMillis.contains(OfNull))
      .orElse(undefined.filter(_ => waiting.reached == Watermark.Unknown)).orElse(neverAny)
    found.map { origin =>
      val hasBegun = origin.isNoted || origin.maxEventTimeMillis.nonEmpty
      (origin.last.filter(split => split.clockMillis.isEmpty && hasBegun), origin.notedIn) match {
        case (Some(split), _) => heldBySplit(waiting, origin, split, None)
        case (None, Some(log)) => InputVerdict.NoMarks(waiting.operator, origin.name, log)
        case (None, None) =>
          InputVerdict.NoEventTime(
            waiting.operator,
            origin.name,
            hasRows = origin.maxEventTimeMillis.nonEmpty,
            origin.watermark.isIdle,
            atJoin(waiting, origin),
            origin.idleAfterMillis,
            of.countsSilence)
      }
    }
  }

  private def noDataBatches(waiting: Waiting): Option[Verdict] = for {
    due <- waiting.due if !of.runsNoDataBatches && waiting.reached.millis.exists(_ >= due)
  } yield Verdict.NoDataBatchesOff(waiting.operator, due, waiting.held)

  /** Also while all inputs are idle: a row of another one would not help. */
  private def joinWaits(waiting: Waiting): Option[Verdict] = {
    val found = for {
      join <- joins(waiting)
      origins = below(join)
      origin <- origins if origin.watermark.isIdle && !origin.followsInJoins && waiting.holder.contains(origin.name)
      if origins.exists(isAhead(_, origin, waiting))
    } yield InputVerdict.JoinWaitsForIdle(
      waiting.operator,
      operator(join).name,
      origin.name,
      origin.watermark.millis,
      origin.idleAfterMillis)
    found.headOption
  }

  /** Whether a join waits for an input even while it is idle. */
  private def atJoin(waiting: Waiting, origin: Origin): Boolean =
    !origin.followsInJoins && joins(waiting).exists(below(_).exists(_.name == origin.name))

  /** The operator itself, if it is a join, and those that its rows come from. */
  private def joins(waiting: Waiting): Seq[PlanShape.Join] =
    PlanShape.postOrder(waiting.shape).collect { case join: PlanShape.Join => join }

  private def isAhead(leader: Origin, origin: Origin, waiting: Waiting): Boolean =
    (leader.watermark.millis, origin.watermark.millis) match {
      case (Some(ahead), Some(reached)) => isHeld(waiting, ahead - reached, origin.delayMillis)
      case (ahead, reached) => ahead.nonEmpty && reached.isEmpty
    }

  private def allSilent(waiting: Waiting): Option[Verdict] = {
    val origins = below(waiting.shape)
    Option.when(origins.nonEmpty && origins.forall(_.watermark.isIdle)) {
      val holder = waiting.holder.flatMap(of.origins.get).getOrElse(origins.head)
      InputVerdict.AllSilent(
        waiting.operator,
        holder.name,
        waiting.reached.millis,
        origins.flatMap(_.lastActiveMillis).maxOption,
        holder.idleAfterMillis,
        holder.advances)
    }
  }

  private def bySplit(waiting: Waiting): Option[Verdict] = for {
    origin <- waiting.holder.flatMap(of.origins.get) if origin.isSplit
    split <- origin.last
    behind = for (largest <- origin.largestClockMillis; clock <- split.clockMillis) yield largest - clock
    if behind.forall(isHeld(waiting, _, origin.delayMillis))
  } yield heldBySplit(waiting, origin, split, behind)

  private def heldBySplit(waiting: Waiting, origin: Origin, split: Situation.Split, behind: Option[Long]): Verdict =
    InputVerdict.HeldBySplit(
      waiting.operator,
      origin.name,
      split,
      behind,
      of.nowMillis,
      origin.notedIn,
      origin.seenOnce,
      of.countsSilence)

  private def byInput(waiting: Waiting): Option[Verdict] = for {
    origin <- waiting.holder.flatMap(of.origins.get)
    reached <- origin.watermark.millis
    ahead <- below(waiting.shape).filter(_.name != origin.name).maxByOption(_.watermark.millis)
    far <- ahead.watermark.millis if isHeld(waiting, far - reached, origin.delayMillis)
  } yield InputVerdict.HeldByInput(
    waiting.operator,
    origin.name,
    reached,
    origin.lastActiveMillis,
    ahead.name,
    far,
    of.nowMillis,
    origin.idleAfterMillis,
    origin.leftOut,
    atJoin(waiting, origin),
    of.countsSilence)

  private def isHeld(waiting: Waiting, behindMillis: Long, delayMillis: Long): Boolean =
    (waiting.due, waiting.reached.millis) match {
      case (Some(due), Some(reached)) => reached < due && due <= reached + behindMillis
      case _ => behindMillis > delayMillis
    }

  /** Nothing that could be done for an input would let this operator evict its state. */
  private def neverEvictsItself(waiting: Waiting): Option[Verdict] = waiting.shape match {
    case join: PlanShape.Join if join.emitsAtOnce =>
      neverEvicts(waiting).filter(_.operator.name == waiting.operator.name)
    case stateful: PlanShape.Stateful if stateful.emitsAtOnce && stateful.eviction == PlanShape.Eviction.Never =>
      Some(Verdict.NeverEvicts(waiting.operator, None))
    case _ => None
  }

  private def neverEvicts(waiting: Waiting): Option[Verdict.NeverEvicts] = joins(waiting).flatMap { join =>
    val hasTime = below(join).nonEmpty
    Seq[Side](Side.Left, Side.Right).find(side => hasTime && join.side(side).bound.isEmpty).map { side =>
      Verdict.NeverEvicts(operator(join), Some(side.name))
    }
  }.headOption

  private def flowing(some: Seq[Waiting]): Verdict = {
    val waiting = some.head
    waiting.reached.millis.fold[Verdict](Verdict.NoBatchYet(isRestart = false)) { reached =>
      val origin = waiting.holder.flatMap(of.origins.get)
      val latest = origin.filter(o => !o.isSplit && o.maxEventTimeMillis.exists(_ - o.delayMillis == reached))
      Verdict.Flowing(
        waiting.operator,
        origin.map(_.name),
        reached,
        latest.map(_.delayMillis),
        // The end that the last batch knew may be passed since.
        waiting.due.filter(_ > reached),
        waiting.held,
        origin.map(_.delayMillis),
        origin.fold[Verdict.MovedBy](Verdict.MovedBy.EventTimes)(movedBy),
        below(waiting.shape).size > 1,
        // Where the next window is known, nothing is due before it ends.
        !of.runsNoDataBatches && waiting.due.isEmpty,
        origin.filterNot(_.isNoted).flatMap(_.watermark.millis).filter(isFarAhead).map(_ - of.nowMillis),
        pending(waiting, reached))
    }
  }

  /** Where no window is known that ends later, something may be due that only the next batch emits. */
  private def pending(waiting: Waiting, reached: Long): Option[Verdict.Pending] =
    for {
      used <- of.emitted
      emitted = waiting.emittedBy(used).millis
      if emitted.forall(_ < reached) && waiting.due.forall(_ <= reached) && of.runsNoDataBatches
    } yield Verdict.Pending(emitted.filter(_ > 0), of.next)

  /** A query that has ended with an error.
    * @param batch the one that was not committed; @param what the first line of the error
    */
  private def failed(batch: Option[Long], what: String): Verdict =
    Verdict.Failed(
      batch,
      what,
      operators.headOption.map(waiting =>
        waiting.operator -> of.emitted.flatMap(waiting.emittedBy(_).millis).filter(_ > 0)))

  private def operator(shape: PlanShape): Verdict.Operator = {
    val input = PlanShape.inputsOf(shape).headOption
    val name = input.fold(shape.label)(PlanInput.nameOf(shape, _))
    val stays = shape match {
      case stateful: PlanShape.Stateful if stateful.emitsAtOnce => Verdict.Stays.State
      case join: PlanShape.Join if join.emitsAtOnce => Verdict.Stays.State
      case _: PlanShape.Join => Verdict.Stays.RowsWithoutMatch
      case _ if input.exists(in => of.haveEmitted(in.operator)) => Verdict.Stays.MoreResults
      case _ => Verdict.Stays.Results
    }
    Verdict.Operator(name, stays)
  }

  private def movedBy(origin: Origin): Verdict.MovedBy =
    if (origin.isNoted) Verdict.MovedBy.Writers
    else if (origin.isSplit) Verdict.MovedBy.Splits
    else Verdict.MovedBy.EventTimes

  private def below(shape: PlanShape): Seq[Origin] =
    PlanShape.postOrder(shape).collect { case origin: PlanShape.Origin => origin.name }.distinct.flatMap(of.origins.get)

  /** An operator that results wait in, with the watermark by which it emits them. */
  private final class Waiting(val shape: PlanShape, inputs: Seq[InputWatermarks]) {
    private val least = leastOf(inputs)

    private def leastOf(inputs: Seq[InputWatermarks]): Option[AttributedWatermark] =
      inputs.flatMap(in => in.evicted.orElse(Some(in.input))).reduceOption(_ earlier _)

    /** Up to where it has emitted with these watermarks. */
    def emittedBy(used: OperatorWatermarks): Watermark =
      leastOf(PlanShape.inputsOf(shape).flatMap(used.inputs.get)).fold[Watermark](Watermark.Unknown)(_.watermark)

    def operator: Verdict.Operator = Diagnosis.this.operator(shape)
    def reached: Watermark = least.fold[Watermark](Watermark.Unknown)(_.watermark)
    def holder: Option[OriginName] = least.flatMap(_.by)
    def held: Option[Situation.Held] = PlanShape.inputsOf(shape).flatMap(in => of.held.get(in.operator)).headOption

    /** The watermark that lets something come out, as far as that is known. */
    def due: Option[Long] =
      (PlanShape.inputsOf(shape).flatMap(in => of.dueMillis.get(in.operator)) ++ held.map(_.firstMillis)).minOption
  }
}

object Diagnosis {

  // Spark counts a null as this event time.
  private val OfNull = 0L

  // A burst of late rows is over when people read of it.
  private val SeveralBatches = 3

  def of(situation: Situation): Verdict = new Diagnosis(situation).verdict

  /** The same for a query that has ended with an error. */
  def ofFailed(situation: Situation, batch: Option[Long], what: String): Verdict =
    new Diagnosis(situation).failed(batch, what)

  private def top(shape: PlanShape): Seq[PlanShape] =
    if (PlanShape.inputsOf(shape).nonEmpty) Seq(shape) else shape.inputs.flatMap(top)
}
