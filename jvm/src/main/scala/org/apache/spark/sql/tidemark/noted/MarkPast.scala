package org.apache.spark.sql.tidemark.noted

import io.tidemark.core.noted.{Mark, MarkId, WriterHistory}

/** What the lives of a writer before a new one have said, and what they have left in files.
  *
  * @param last the last mark of them that was written, as far as files say it
  * @param timeMillis the largest time that they have noted
  * @param files those that their marks have listed, as far as they can be read
  * @param leftovers what is in live files only, by life
  * @param live the names of the live files
  */
private[noted] final case class MarkPast(
    last: Option[MarkId],
    timeMillis: Option[Long],
    files: Set[String],
    leftovers: Seq[MarkPast.Leftover],
    live: Seq[String])

private[noted] object MarkPast {

  /** Marks of a life that are in live files only. These files are removed once a sealed file has the marks, so its name says
    * which marks they had, also those that cannot be read.
    *
    * @param first the number of the first of them; @param last that of the last one
    * @param lines those that can be read
    */
  final case class Leftover(epoch: Long, first: Long, last: Long, lines: Seq[Array[Byte]])

  /** The marks of a file.
    * @param lostBefore how many lines before the first mark cannot be used; @param lostBehind how many behind the last one
    * @param isCut whether the end of the file is missing, and with it any number of lines
    */
  final case class Lines(marks: Vector[Mark], lostBefore: Int, lostBehind: Int, isCut: Boolean)

  /** @param epoch that of the new life
    * @throws java.io.IOException if the log cannot be read
    */
  def of(folder: MarkFolder, writer: String, epoch: Long): MarkPast = {
    val names = folder.list().map(_.name).filter(name => name.writer == writer && name.epoch < epoch)
    val (live, older) = names.partition(_.isLive)
    val sealedFiles = older.sortBy(_.first)
    val unsealed = live.map(name => name.epoch -> linesOf(folder, name)).groupMap(_._1)(_._2)
    val leftovers = unsealed.toSeq.sortBy(_._1).flatMap { case (life, files) =>
      leftover(folder, sealedFiles, life, files)
    }
    val counted = countedOf(folder, writer, sealedFiles, unsealed)
    val places = sealedFiles.flatMap(name => name.range.map(range => MarkId(name.epoch, range.last))) ++
      leftovers.map(left => MarkId(left.epoch, left.last)) ++ counted.lastOption.map(_.place) ++
      // The new life continues from purged marks, and does not count as a first one: nothing says which files they had.
      folder.lastPurged(writer)
    MarkPast(
      places.maxOption,
      counted.flatMap(_.timeMillis).maxOption,
      counted.flatMap(_.files).flatten.toSet,
      leftovers,
      live.map(_.text))
  }

  /** The last marks that count, with the last time. Each mark of files says which are new, so all of them are needed.
    *
    * Files are read from the newest life back. What a life has written after it was fenced off is in a live file, and only the
    * files of the lives behind it say that it does not count.
    */
  private def countedOf(
      folder: MarkFolder,
      writer: String,
      sealedFiles: Seq[MarkFileName],
      unsealed: Map[Long, Seq[Lines]]): IndexedSeq[Mark] = {
    // The two live files of a life belong together.
    val live = unsealed.map { case (life, files) => MarkId(life, Long.MaxValue) -> (() => files.flatMap(_.marks)) }
    val older = sealedFiles.flatMap(name => name.first.map(_ -> (() => linesOf(folder, name).marks)))
    val files = (older ++ live).sortBy(_._1).reverseIterator.map(_._2())
    def count(marks: Seq[Mark]) =
      if (marks.isEmpty) IndexedSeq.empty[Mark] else WriterHistory(writer, marks, Nil).marks
    var marks = Seq.empty[Mark]
    var counted = count(marks)
    while (files.hasNext && counted.forall(_.timeMillis.isEmpty)) {
      marks ++= files.next()
      counted = count(marks)
    }
    if (counted.exists(_.files.isDefined)) count(marks ++ files.flatten) else counted
  }

  private def leftover(
      folder: MarkFolder,
      sealedFiles: Seq[MarkFileName],
      epoch: Long,
      files: Seq[Lines]): Option[Leftover] = {
    val live = files.flatMap(_.marks).map(mark => mark.number -> mark).toMap
    val left = unsealed(folder, sealedFiles.filter(_.epoch == epoch), live)
    val behind = sealedFiles.filter(_.epoch == epoch).flatMap(_.range).map(_.last + 1).maxOption.getOrElse(0L)
    val isBeginningLost = beginningIsLost(files, live.keys) && live.keys.forall(_ > behind)
    // Another file may have the line that was cut, but how many were behind it is unknown.
    val cut = Option.when(live.nonEmpty && files.exists(_.isCut))(live.keys.max + 1)
    val written = (files.flatMap(lastWritten(_, behind)) ++ cut).maxOption.filter(last => live.keys.forall(_ < last))
    Option.when(left.nonEmpty || isBeginningLost || written.nonEmpty) {
      val numbers = left.keys ++ Option.when(isBeginningLost)(behind) ++ written
      Leftover(epoch, numbers.min, numbers.max, left.toSeq.sortBy(_._1).map(mark => MarkText.line(mark._2)))
    }
  }

  /** Whether a first line cannot be used, and no other file begins with the first mark that is known. */
  private def beginningIsLost(files: Seq[Lines], live: Iterable[Long]): Boolean = {
    val begins = files.filter(_.lostBefore == 0).flatMap(_.marks.headOption).map(_.number).toSet
    files.exists(_.lostBefore > 0) && !live.minOption.exists(begins)
  }

  /** The number of the last mark that was written into a live file: each line had one, and they begin behind the sealed ones. */
  private def lastWritten(file: Lines, behind: Long): Option[Long] = file.marks.lastOption match {
    case Some(mark) => Some(mark.number + file.lostBehind)
    case None => Option.when(file.lostBefore > 0)(behind + file.lostBefore - 1)
  }

  /** The marks of live files that no sealed file has. */
  private def unsealed(folder: MarkFolder, sealedFiles: Seq[MarkFileName], live: Map[Long, Mark]): Map[Long, Mark] =
    sealedFiles.foldLeft(live) { (left, name) =>
      val promised = name.range.toSeq.flatMap(range => live.keys.filter(n => range.first <= n && n <= range.last)).toSet
      if (promised.isEmpty) left
      else {
        val found = linesOf(folder, name).marks.map(mark => mark.number -> mark).toMap
        // A damaged one does not count. What it still has goes along, because the new file may have its name.
        if (promised.subsetOf(found.keySet)) left -- promised else found ++ left
      }
    }

  def linesOf(folder: MarkFolder, name: MarkFileName): Lines = {
    val found = Vector.newBuilder[Mark]
    var before, behind = 0
    var isEmpty = true
    var isCut = false
    folder.read(name) {
      case (_, Right(mark)) =>
        found += mark
        isEmpty = false
        behind = 0
      case (_, Left(reason)) =>
        isCut = reason == MarkFolder.Torn
        if (isEmpty) before += 1 else behind += 1
    }
    Lines(found.result(), before, behind, isCut)
  }
}
