package io.tidemark.core.splits

/** What happens to the watermark when an idle input has rows again, and its clock is behind the watermark. */
sealed trait OnReturn

object OnReturn {

  /** The input holds the watermark where it is until its clock has caught up (Hazelcast's rule). */
  case object Hold extends OnReturn

  /** The input is left out until its clock has caught up (Flink's rule). */
  case object CatchUp extends OnReturn
}
