import sbt.MessageOnlyException

object Fail {

  /** Ends a task with this sentence alone: where in the build it was said helps nobody. */
  def fail(sentence: String): Nothing = throw new MessageOnlyException(sentence)
}
