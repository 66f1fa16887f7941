package io.tidemark.core.splits

/** What would follow if every input were idle that was last observed at some limit or before. The answer is the same for
  * every later limit before `until`.
  *
  * @param idle whether all inputs would be idle
  * @param leaving how many inputs would become idle
  */
final case class IdlePreview(watermark: Long, idle: Boolean, leaving: Int, until: Long)
