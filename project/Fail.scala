import sbt.MessageOnlyException

object Fail {

  /** Ends a task with this sentence alone: a stack trace of the build would not help. */
  def fail(sentence: String): Nothing = throw new MessageOnlyException(sentence)
}
