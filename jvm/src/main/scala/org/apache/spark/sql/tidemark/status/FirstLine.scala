package org.apache.spark.sql.tidemark.status

import io.tidemark.TidemarkException

/** The line of an error that says what happened. */
private[tidemark] object FirstLine {
  private val PythonTraceback = "Traceback (most recent call last)"

  /** That of Tidemark's own error, or else that of the innermost cause. What a Python function has raised comes at the end of
    * its traceback.
    */
  def of(error: Throwable): String = {
    val causes = Iterator.iterate(error)(_.getCause).takeWhile(_ != null).take(50).toSeq
    val cause =
      causes.find(_.isInstanceOf[TidemarkException]).orElse(causes.findLast(hasMessage)).getOrElse(causes.last)
    val lines = Option(cause.getMessage).toSeq.flatMap(_.linesIterator.map(_.stripTrailing)).filter(_.nonEmpty)
    val raised = lines.lastIndexWhere(_.contains(PythonTraceback)) match {
      case -1 => None
      case at => lines.drop(at + 1).find(line => !line.head.isWhitespace)
    }
    raised.orElse(lines.headOption).getOrElse(cause.getClass.getName)
  }

  private def hasMessage(error: Throwable): Boolean = Option(error.getMessage).exists(_.trim.nonEmpty)
}
