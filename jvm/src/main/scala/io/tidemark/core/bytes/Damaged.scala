package io.tidemark.core.bytes

/** The bytes of a file are not what Tidemark wrote, or not all of it. `why` completes "the entry is damaged: ...". */
final class Damaged(val why: String) extends RuntimeException(why)
