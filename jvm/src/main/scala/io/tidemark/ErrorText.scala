package io.tidemark

/** Parts of sentences that several errors share. */
private[tidemark] object ErrorText {

  val RestoreEntry: String =
    "restoring the file from a backup, or by deleting the checkpoint's tidemark folder. Without the folder, the query " +
      "continues from Spark's own watermark, the minimum of all inputs. A query with an operator that carries a second " +
      "event-time column cannot continue without the file and needs a new checkpoint"

  /** `a, b or c`. */
  def oneOf(values: Seq[String]): String = values match {
    case Seq(only) => only
    case several => s"${several.init.mkString(", ")} or ${several.last}"
  }

  /** `'a', 'b', 'c'`. */
  def quoted(values: Seq[String]): String = values.mkString("'", "', '", "'")

  /** Which columns are event time, to follow that a given one is not. */
  def eventTimeHere(columns: Seq[String]): String =
    if (columns.isEmpty) "None of the columns here is." else s"Event time here: ${quoted(columns)}."

  /** `4.2` of `4.2.1`. */
  def minor(version: String): String = version.split('.').take(2).mkString(".")
}
