package org.apache.spark.sql.tidemark.noted

import scala.annotation.tailrec
import scala.collection.mutable

import io.tidemark.core.noted.{Mark, MarkId, WriterHistory}

/** Reads a mark log again and again, and only what has changed since: a file is known by its name, length and modification
  * time. One thread uses it at a time.
  *
  * Live files are read before the folder is listed for sealed ones. A writer seals its marks durably before it takes them
  * out of its live files, so none falls between the two.
  *
  * What is read is one moment of the log: no mark is taken without the writers that existed when it was written. So the
  * folder is listed again, until it has no new live files. Lives that are found after the last look count by their names
  * only, as alive.
  *
  * Hosts of writers may have wrong clocks, so marks are dated by the file system, which all writers share: the last mark of a
  * file was written when the file was, and the others earlier by the times that the writer gives. A mark that is in several files
  * has the date of the file that ends first, of those the oldest: that is nearest to when the mark was written.
  *
  * About `mostMarks` marks are kept. Of a longer log, later sealed files are left out until earlier marks are passed, which
  * is sound. But the first file of each life is always read, because it says what a life fences off, and so are live files.
  *
  * @param clockMillis the present
  */
private[tidemark] final class MarkLogReader(
    folder: MarkFolder,
    mostMarks: Int = MarkLogReader.MostMarks,
    clockMillis: () => Long = () => System.currentTimeMillis())
    extends MarkSource {
  import MarkLogReader._

  private var known = Map.empty[String, Known]
  private var writers = Map.empty[String, Writer]

  override def exists: Boolean = folder.exists

  /** A file that has only marks up to those that were passed is not read. */
  override def read(
      passed: Map[String, MarkId] = Map.empty,
      isWanted: String => Boolean = _ => true): MarkLogContents = {
    var sealedUpTo = Map.empty[(String, Long), Long]
    def list() = {
      val wanted = folder.list().filter(file => isWanted(file.name.writer))
      sealedUpTo =
        wanted.flatMap(file => file.name.range.map(range => file.name.life -> range.last)).groupMapReduce(_._1)(
          _._2)(math.max)
      wanted.filter(file => passed.get(file.name.writer).forall(file.name.mayGoBeyond))
    }
    val (live, listed) = lookUntilSame(() => list(), Nil, list(), looks = 1)
    var kept = live.iterator.map(_.marks.size).sum
    val sealedFiles = inTurn(listed.filterNot(_.name.isLive)).flatMap { case (file, isFirst) =>
      val found = Option.when(isFirst || kept < mostMarks)(read(file))
      kept += found.fold(0)(_.marks.size)
      found
    }
    val found = live ++ sealedFiles
    known = found.map(reading => reading.file.name.text -> reading).toMap
    writers = found.groupBy(_.file.name.writer).map { case (writer, files) =>
      writer -> history(writer, files, sealedUpTo)
    }
    MarkLogContents(
      for { (writer, files) <- writers; history <- files.history } yield writer -> history,
      found.flatMap(_.skipped).groupMapReduce(_._1)(_._2)(_ + _))
  }

  /** The live files as they were read, and the last listing.
    * @param looks how often the folder was listed
    */
  @tailrec private def lookUntilSame(
      list: () => Seq[MarkFolder.File],
      known: Seq[Known],
      listed: Seq[MarkFolder.File],
      looks: Int): (Seq[Known], Seq[MarkFolder.File]) = {
    val names = known.map(_.file.name.text).toSet
    val unread = listed.filter(file => file.name.isLive && !names(file.name.text))
    if (unread.isEmpty && looks > 1) (known, listed)
    else if (looks > MostLooks) (known ++ onlyNamed(known, unread), listed)
    else lookUntilSame(list, known ++ unread.map(read), list(), looks + 1)
  }

  /** Lives of which nothing else is known. Their other marks may be newer than writers that this reading does not know. */
  private def onlyNamed(known: Seq[Known], late: Seq[MarkFolder.File]): Seq[Known] = {
    val lives = known.map(_.file.name.life).toSet
    late.filterNot(file => lives(file.name.life)).distinctBy(_.name.life).map { file =>
      val alive = Mark(file.name.writer, file.name.epoch, 0, Mark.Alive, None, file.modifiedMillis)
      new Known(file, isSettled = false, Vector(alive), Map.empty, isWholeFromStart = true, lines = 1, lostBehind = 0)
    }
  }

  /** A file as it is now. A file that was changed a moment before it was read may be changed again without another length
    * or time, so it is read once more.
    */
  private def read(file: MarkFolder.File): Known = known.get(file.name.text) match {
    case Some(same) if same.file == file && same.isSettled => same
    case _ =>
      val now = clockMillis()
      val marks = Vector.newBuilder[Mark]
      val skipped = mutable.HashMap.empty[String, Int]
      var isWholeFromStart = true
      var lines, lostBehind = 0
      folder.read(file.name) {
        case (line, Right(mark)) =>
          marks += mark
          lines = line
          lostBehind = 0
        case (line, Left(reason)) =>
          isWholeFromStart &&= line > 1
          lines = line
          lostBehind += 1
          skipped.updateWith(reason)(count => Some(count.getOrElse(0) + 1))
      }
      val isSettled = !file.name.isLive || now - file.modifiedMillis >= SettledMillis
      new Known(
        file,
        isSettled,
        dated(marks.result(), file.modifiedMillis),
        skipped.toMap,
        isWholeFromStart,
        lines,
        lostBehind)
  }

  /** A writer's history is made again only if its files have changed. */
  private def history(writer: String, files: Seq[Known], sealedUpTo: Map[(String, Long), Long]): Writer = writers.get(
    writer) match {
    case Some(same) if same.files == files => same
    case _ =>
      // If a mark is found twice, the first one counts.
      val marks =
        files.sortBy(reading => (reading.marks.lastOption.map(_.place), reading.file.modifiedMillis)).flatMap(_.marks)
      val promised = files.flatMap(_.file.name.first) ++ lost(files)
      val unread = files.flatMap { reading =>
        reading.lastUnread(sealedUpTo.getOrElse(reading.file.name.life, -1L)).map(n =>
          MarkId(reading.file.name.epoch, n) -> reading)
      }.maxByOption(_._1)
      val history =
        if (marks.nonEmpty) Some(WriterHistory(writer, marks, promised, unread.map(_._1)))
        else unread.map { case (at, reading) => WriterHistory.unreadable(writer, at, reading.file.modifiedMillis) }
      Writer(files, history)
  }

  /** A mark that no file's name promises: the first line of a live file cannot be used, nor is its mark anywhere else. The
    * marks before were passed, and their files may not have been read, so without this it would count as purged.
    */
  private def lost(files: Seq[Known]): Seq[MarkId] = {
    val begins = files.filter(_.isWholeFromStart).flatMap(_.marks.headOption).map(_.place).toSet
    for {
      epoch <- files.filterNot(_.isWholeFromStart).map(_.file.name.epoch).distinct
      first = files.filter(_.file.name.epoch == epoch).flatMap(_.marks).map(_.place).minOption
      if !first.exists(begins)
    } yield MarkId(epoch, 0)
  }
}

private[tidemark] object MarkLogReader {

  /** How often live files are looked for. */
  private val MostLooks = 3

  /** A mark takes some 500 bytes. */
  val MostMarks = 200000

  /** The time of a file is no more exact than this on any common file system. */
  private val SettledMillis = 2000L

  /** A file as it was read. Two of them are equal only if they are the same.
    * @param lostBehind how many lines behind the last mark cannot be used
    */
  private final class Known(
      val file: MarkFolder.File,
      val isSettled: Boolean,
      val marks: Vector[Mark],
      val skipped: Map[String, Int],
      val isWholeFromStart: Boolean,
      lines: Int,
      lostBehind: Int) {

    /** The number of the last mark that was written into the file, if it cannot be read: each line had one.
      * @param sealedUpTo the last number that is sealed of the life
      */
    def lastUnread(sealedUpTo: Long): Option[Long] = {
      val last = marks.lastOption.map(_.number)
      file.name.range match {
        // A file that has bytes and no line was purged a moment ago.
        case Some(range) => Option.when(last.forall(_ < range.last) && (lines > 0 || file.bytes == 0))(range.last)
        case None => Option.when(lostBehind > 0)(last.getOrElse(sealedUpTo) + lostBehind)
      }
    }
  }

  private def dated(marks: Vector[Mark], modifiedMillis: Long): Vector[Mark] =
    marks.lastOption.map(modifiedMillis - _.writtenMillis).filter(_ != 0).fold(marks) { wrongBy =>
      marks.map(mark => mark.copy(writtenMillis = mark.writtenMillis + wrongBy))
    }

  private final case class Writer(files: Seq[Known], history: Option[WriterHistory])

  /** Sealed files by age, one of each writer in turn, and whether it is the first of a life. */
  private def inTurn(files: Seq[MarkFolder.File]): Seq[(MarkFolder.File, Boolean)] = {
    val turns = for {
      mine <- files.groupBy(_.name.writer).values.map(_.sortBy(_.name.first)).toSeq
      turn <- mine.indices
    } yield (turn, mine(turn), turn == 0 || mine(turn - 1).name.epoch != mine(turn).name.epoch)
    turns.sortBy { case (turn, file, _) => (turn, file.name.text) }.map { case (_, file, isFirst) => (file, isFirst) }
  }
}
