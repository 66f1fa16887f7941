package io.tidemark.core.noted

/** How far a writer's marks were passed, as an entry keeps it.
  *
  * @param passed the last mark that was passed; `None` if none was
  * @param lastActiveMillis when the writer last said something new in a passed mark
  * @param isDated whether that is by the store's clock
  * @param hasPending whether marks are known that are not passed
  * @param isIdle whether the last mark that was passed is `idle`, and none was known behind it
  * @param isEnded whether it is `end`
  * @param nextMillis the next larger time of a mark that is not passed
  */
final case class WriterState(
    passed: Option[MarkId],
    lastActiveMillis: Long,
    hasPending: Boolean = false,
    isIdle: Boolean = false,
    isEnded: Boolean = false,
    nextMillis: Option[Long] = None,
    isDated: Boolean = true) {

  /** Whether the writer has said that it may be left out, and nothing since. */
  def isResting: Boolean = isIdle || isEnded
}

/** What a writer's marks say at a position.
  *
  * @param timeMillis the largest time that is newly passed; `None` if none is
  * @param isActive whether a mark with a larger time, or `alive`, is newly passed, or marks are pending and none was before
  * @param next the first mark that is not passed
  * @param state what to continue from
  * @param isBroken whether `next` waits for marks that are missing before it, whatever is read
  * @param waitsForPurged whether `next` waits for all listed files, because marks before it were purged
  * @param isCutOff whether the writer's newest mark cannot be read
  * @param farAheadMillis the first noted time that is too far ahead to be believed yet
  */
final case class WriterProgress(
    timeMillis: Option[Long],
    isActive: Boolean,
    next: Option[Mark],
    state: WriterState,
    isBroken: Boolean = false,
    waitsForPurged: Boolean = false,
    isCutOff: Boolean = false,
    farAheadMillis: Option[Long] = None)

/** What all marks of a log say at a position. */
final case class NotedWriters(writers: Map[String, WriterProgress]) {

  def states: Map[String, WriterState] = writers.map { case (writer, progress) => writer -> progress.state }

  /** Those that have said something new, or have marks ahead now. */
  def active: Seq[String] = writers.collect { case (writer, progress) if progress.isActive => writer }.toSeq

  /** The next time that is noted ahead by all writers but those left out, such as idle ones: the time window's upper
    * bound. `None` near the end of what is noted.
    */
  def upperMillis(isLeftOut: String => Boolean): Option[Long] = {
    val next = writers.collect { case (writer, progress) if !isLeftOut(writer) => progress.state.nextMillis }
    if (next.exists(_.isEmpty)) None else next.flatten.maxOption
  }
}

object NotedWriters {

  /** The writers while their log cannot be read. Those with marks ahead keep them. */
  def unchanged(before: Map[String, WriterState]): NotedWriters = NotedWriters(before.map { case (writer, state) =>
    writer -> WriterProgress(None, isActive = false, None, state)
  })

  /** @param before how far each writer's marks were passed earlier. A writer whose marks are all gone stays as it was
    * @param latestMillis the latest noted time to believe now; `None` for any
    * @param latestBeforeMillis the same when `before` was found. Marks that were passed before are looked at again if
    *   their time has come since
    * @throws PositionMismatch if marks have another kind of position
    */
  def apply(
      histories: Map[String, WriterHistory],
      before: Map[String, WriterState],
      read: SourcePosition,
      latestMillis: Option[Long],
      latestBeforeMillis: Option[Long] = None): NotedWriters = {
    val gone = before.removedAll(histories.keys).map { case (writer, state) =>
      writer -> WriterProgress(None, isActive = false, None, state.copy(hasPending = false, nextMillis = None))
    }
    val known = histories.map { case (writer, history) =>
      val believed = latestMillis.fold(history)(history.believed)
      val found = progress(believed, before.get(writer), read, latestBeforeMillis)
      writer -> found.copy(farAheadMillis = latestMillis.flatMap(history.firstNoteAfter))
    }
    NotedWriters(gone ++ known)
  }

  private def progress(
      history: WriterHistory,
      before: Option[WriterState],
      read: SourcePosition,
      latestBeforeMillis: Option[Long]): WriterProgress = {
    val marks = history.marks
    val place = before.flatMap(_.passed)
    val known = place.fold(0)(history.upTo)
    val passed = history.passed(read, place)
    val isCutOff = history.isCutOff(place)
    val hasPending = passed < marks.size || isCutOff
    // Rule 7: the clock is the largest time among the marks that are passed.
    val time = history.lastNote(passed).collect {
      case (at, millis) if at >= known || latestBeforeMillis.exists(_ < millis) => millis
    }
    // `idle` and `end` are news, but do not make the writer active.
    val news = Iterator.range(known, passed).filter(history.isNews).toSeq
    val last = if (passed > known) Some(marks(passed - 1)) else None
    // Without news it is as it was, unless its marks were passed long before this reader kept anything of it.
    val lastKind = last.orElse(if (before.isEmpty && known > 0) Some(marks(known - 1)) else None).map(_.kind)
    // Rule 8, but for a writer whose newest mark cannot be read, by rule 9.
    def isLast(kind: Mark.Kind, wasLast: WriterState => Boolean) =
      !hasPending && lastKind.fold(before.exists(wasLast))(_ == kind)
    val (isIdle, isEnded) = (isLast(Mark.Idle, _.isIdle), isLast(Mark.End, _.isEnded))
    // Any mark brings back a writer that rested, even if its time is not new.
    val isBack = before.exists(_.isResting) && passed > known && !isIdle && !isEnded
    val isActive = time.isDefined || isBack || news.exists(marks(_).kind == Mark.Alive) ||
      hasPending && !before.exists(_.hasPending)
    val (activeMillis, isDated) =
      if (news.isEmpty && before.nonEmpty) (before.get.lastActiveMillis, before.get.isDated)
      else {
        val newest = marks(news.lastOption.getOrElse(0))
        (newest.writtenMillis, newest.isDated)
      }
    val state = WriterState(
      last.map(_.place).orElse(place),
      activeMillis,
      hasPending,
      isIdle,
      isEnded,
      history.nextNoteMillis(passed),
      isDated)
    WriterProgress(
      time,
      isActive,
      marks.lift(passed),
      state,
      history.isBroken(passed, place),
      history.waitsForPurged(passed, place),
      isCutOff)
  }
}
