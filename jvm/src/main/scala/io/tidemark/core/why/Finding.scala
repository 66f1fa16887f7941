package io.tidemark.core.why

/** One thing that a plan shows of a query before it starts.
  *
  * @param code a stable name, in capitals
  * @param sentence what is the case, in one or two sentences
  * @param fix what follows "Fix this by"
  * @param column the event-time column that it is about
  * @param operator the operator that it is about, as reports have it
  */
final case class Finding(
    code: String,
    severity: Severity,
    sentence: String,
    fix: String,
    column: Option[String] = None,
    operator: Option[String] = None) {

  /** The line of the log. */
  def message: String = s"[TIDEMARK.$code] $sentence Fix this by $fix."
}

/** How bad a finding is. */
sealed abstract class Severity(val name: String)
object Severity {

  /** The query does not start. */
  case object Error extends Severity("error")

  /** State is kept forever, or rows are lost or wait forever. */
  case object Warning extends Severity("warning")

  /** It is worth knowing, and may be just what is wanted. Only `explain` says it. */
  case object Info extends Severity("info")

  val all: Seq[Severity] = Seq(Error, Warning, Info)
}
