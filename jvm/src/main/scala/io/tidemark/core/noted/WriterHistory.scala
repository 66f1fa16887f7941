package io.tidemark.core.noted

import scala.collection.Searching.Found
import scala.collection.immutable.ArraySeq

/** The marks of one writer that count, and which of them are passed at a position, by the rules of
  * `docs/noted-time/format.md`, "What a reader takes". A comment names the rule that its code applies. [[NotedWriters]] has
  * rules 7 and 8.
  *
  * A reader that has passed a mark before continues from that mark. Earlier marks that are missing do not matter then.
  *
  * @param marks the marks that count, by epoch and number
  * @param isDamaged whether marks before the first one exist that cannot be read or do not count
  * @param breaks the indexes of marks that do not follow the one before
  * @param risingNotes the indexes of marks that note a time above all before
  * @param unread the writer's newest mark, if it is behind all these and cannot be read
  * @param isUnreadable whether no mark can be read, and the only one here stands for the writer and says nothing else
  */
final class WriterHistory private (
    val writer: String,
    val marks: IndexedSeq[Mark],
    isDamaged: Boolean,
    breaks: ArraySeq[Int],
    risingNotes: ArraySeq[Int],
    unread: Option[MarkId],
    val isUnreadable: Boolean = false) {

  /** The indexes of marks with a position. */
  private val positioned = marks.indices.filter(marks(_).position.isDefined).to(ArraySeq)
  private val isRelative = positioned.headOption.flatMap(marks(_).position).exists(_.isInstanceOf[Position.Files])

  /** How many of the marks are passed, from the first one on. Rule 9: of a writer without a readable mark, none is.
    * @param before the last mark that was passed earlier
    * @throws PositionMismatch if the marks have another kind of position
    */
  def passed(read: SourcePosition, before: Option[MarkId] = None): Int = {
    val known = before.fold(0)(upTo)
    if (known == marks.size || isUnreadable) known
    else if (isRelative || positioned.isEmpty && read.kind == "files") passedInChain(read, before, known)
    else passedByPosition(read, before, known)
  }

  /** Whether the mark behind the first `count` ones waits for marks that are missing before it, whatever is read.
    * @param before the last mark that was passed earlier
    */
  def isBroken(count: Int, before: Option[MarkId]): Boolean = isRelative && count < marks.size && {
    val known = before.fold(0)(upTo)
    if (count == known) !isJoined(known, before)(!isDamaged) else breaks.search(count).isInstanceOf[Found]
  }

  /** Whether the mark behind the first `count` ones waits until all listed files have been read, because marks before it
    * were purged.
    * @param before the last mark that was passed earlier
    */
  def waitsForPurged(count: Int, before: Option[MarkId]): Boolean = isRelative && count < marks.size && {
    count == before.fold(0)(upTo) && !isBroken(count, before) && !isJoined(count, before)(isWhole)
  }

  /** Rule 9: whether a mark was written and cannot be read, behind all that can.
    * @param before the last mark that was passed earlier: it may have been passed when it could be read
    */
  def isCutOff(before: Option[MarkId]): Boolean = unread.exists(at => before.forall(_ < at))

  /** Whether the first mark is the first one that the writer ever wrote. */
  private def isWhole: Boolean = marks.head.number == 0 && marks.head.after.isEmpty

  /** The first noted time above all before that is later than `millis`. */
  def firstNoteAfter(millis: Long): Option[Long] =
    risingNotes.lift(firstWhere(
      0,
      risingNotes.size)(at => marks(risingNotes(at)).timeMillis.exists(_ > millis))).flatMap(marks(_).timeMillis)

  /** How many of the marks are at or before a place. */
  def upTo(place: MarkId): Int = firstWhere(0, marks.size)(marks(_).place > place)

  /** The largest time noted by the first `count` marks, and the index of its mark. */
  def lastNote(count: Int): Option[(Int, Long)] = {
    val before = risingNotes.search(count).insertionPoint
    Option.when(before > 0)(risingNotes(before - 1)).map(at => at -> marks(at).timeMillis.get)
  }

  /** The next time above all before that is noted behind the first `count` marks. */
  def nextNoteMillis(count: Int): Option[Long] =
    risingNotes.lift(risingNotes.search(count).insertionPoint).flatMap(marks(_).timeMillis)

  /** Whether a mark notes a time above all before. */
  def isNote(at: Int): Boolean = risingNotes.lift(risingNotes.search(at).insertionPoint).contains(at)

  /** Rule 4: whether a mark says something new. A time that is not above all before does not. */
  def isNews(at: Int): Boolean = marks(at).kind != Mark.Note || isNote(at)

  /** Whether the writer has ended, or is idle by its own word, and has said nothing since. */
  def isDone: Boolean = {
    val usable = if (!isRelative) marks.size else if (isDamaged) 0 else breaks.headOption.getOrElse(marks.size)
    unread.isEmpty && usable == marks.size && marks.lastOption.exists(_.isResting)
  }

  /** Rule 3: this history for a reader that believes no later time now. */
  def believed(latestMillis: Long): WriterHistory =
    if (lastNote(marks.size).forall(_._2 <= latestMillis)) this
    else {
      val believed = marks.map(_.believed(latestMillis))
      new WriterHistory(writer, believed, isDamaged, breaks, WriterHistory.risingNotes(believed), unread, isUnreadable)
    }

  /** Rule 6: a mark with files is passed with its files and all marks before it. */
  private def passedInChain(read: SourcePosition, before: Option[MarkId], known: Int): Int =
    if (!isJoined(known, before)(!isDamaged && (isWhole || hasDrained(read)))) known
    else {
      val end = breaks.lift(breaks.search(known + 1).insertionPoint).getOrElse(marks.size)
      Iterator.range(known, end).find(at => !marks(at).position.forall(isRead(read, _))).getOrElse(end)
    }

  /** Rule 5: a mark is passed when its position has been read. Positions of a writer do not go back. Where they do, this
    * finds an earlier mark, which is sound. A mark without a position is passed with the one before it.
    */
  private def passedByPosition(read: SourcePosition, before: Option[MarkId], known: Int): Int = {
    val from = positioned.search(known).insertionPoint
    val until = firstWhere(from, positioned.size)(at => !isRead(read, marks(positioned(at)).position.get))
    val start = if (until > from) positioned(until - 1) + 1 else known
    Iterator.range(start, marks.size).find { at =>
      marks(at).position.isDefined || !(
        if (at == known) isJoined(known, before)(isWhole)
        else marks(at).follows(marks(at - 1).place))
    }.getOrElse(marks.size)
  }

  /** Whether nothing is missing between what was passed earlier and the first mark behind it. */
  private def isJoined(known: Int, before: Option[MarkId])(isBeginning: => Boolean): Boolean =
    before.exists(marks(known).follows) ||
      (if (known == 0) isBeginning else marks(known).follows(marks(known - 1).place))

  private def hasDrained(read: SourcePosition): Boolean = read match {
    case files: SourcePosition.Files => files.isDrained
    case _ => false
  }

  private def isRead(read: SourcePosition, position: Position): Boolean = {
    if (position.isInstanceOf[Position.Files] != isRelative)
      throw new PositionMismatch(writer, position.kind, if (isRelative) "files" else "another kind")
    read.hasPassed(writer, position)
  }

  private def firstWhere(from: Int, until: Int)(holds: Int => Boolean): Int = {
    @annotation.tailrec
    def search(low: Int, high: Int): Int =
      if (low >= high) low
      else {
        val middle = (low + high) >>> 1
        if (holds(middle)) search(low, middle) else search(middle + 1, high)
      }
    search(from, until)
  }
}

object WriterHistory {

  /** @param all the writer's marks in any order, at least one; a mark may be in it twice
    * @param promised the places of first marks that the names of its files promise
    * @param unread the newest mark that was written and cannot be read; it does not matter if a later one can
    */
  def apply(
      writer: String,
      all: Iterable[Mark],
      promised: Iterable[MarkId] = Nil,
      unread: Option[MarkId] = None): WriterHistory = {
    val ordered = all.to(ArraySeq.untagged).sortBy(_.place)
    val marks = unfenced(ordered)
    val first = marks.head.place
    val isDamaged = ordered.head.place < first || promised.exists(_ < first)
    val breaks = (1 until marks.size).filterNot(at => marks(at).follows(marks(at - 1).place))
    new WriterHistory(
      writer,
      marks,
      isDamaged,
      breaks.to(ArraySeq),
      risingNotes(marks),
      unread.filter(_ > ordered.last.place))
  }

  /** A writer that exists, and of which no mark can be read.
    * @param newest its newest mark; @param writtenMillis when that was written; @param isDated whether by the store's clock
    */
  def unreadable(writer: String, newest: MarkId, writtenMillis: Long, isDated: Boolean = true): WriterHistory = {
    val mark = Mark(writer, newest.epoch, newest.number, Mark.Alive, None, writtenMillis, isDated = isDated)
    new WriterHistory(writer, ArraySeq(mark), true, ArraySeq.empty, ArraySeq.empty, Some(newest), isUnreadable = true)
  }

  /** Rule 2: the marks that count, as later lives fence off earlier ones.
    * @param ordered all marks of a writer
    */
  private def unfenced(ordered: IndexedSeq[Mark]): IndexedSeq[Mark] = {
    @annotation.tailrec
    def kept(
        lives: List[IndexedSeq[Mark]],
        fence: Option[MarkId],
        later: List[IndexedSeq[Mark]]): List[IndexedSeq[Mark]] =
      lives match {
        case life :: _ if fence.exists(life.head.place.epoch < _.epoch) => later
        case Nil => later
        case life :: earlier =>
          val counted = life.filter(mark => fence.forall(mark.place <= _))
          val begins = counted.flatMap(_.after)
          if (counted.isEmpty) kept(earlier, fence, later)
          else if (begins.isEmpty) counted :: later
          else kept(earlier, Some((begins ++ fence).min), counted :: later)
      }
    kept(lives(ordered).reverse, None, Nil).to(ArraySeq.untagged).flatten
  }

  /** Rule 1: marks in order by life, each once. */
  private def lives(ordered: IndexedSeq[Mark]): List[IndexedSeq[Mark]] = {
    val once = ordered.indices.filter(at => at == 0 || ordered(at).place != ordered(at - 1).place).map(ordered)
    val starts = once.indices.filter(at => at == 0 || once(at).epoch != once(at - 1).epoch)
    starts.zipAll(starts.drop(1), 0, once.size).map { case (from, until) => once.slice(from, until) }.toList
  }

  private def risingNotes(marks: IndexedSeq[Mark]): ArraySeq[Int] = {
    val found = ArraySeq.newBuilder[Int]
    var highest = Option.empty[Long]
    for (at <- marks.indices; time <- marks(at).timeMillis if highest.forall(_ < time)) {
      highest = Some(time)
      found += at
    }
    found.result()
  }
}
