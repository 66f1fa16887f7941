package io.tidemark

/** The refusals of a checkpoint's watermark log, when an entry or the log itself cannot be used. */
object CheckpointErrors {
  import ErrorText._

  final case class EntryDamaged(file: String, reason: String) extends TidemarkError(
        "CHECKPOINT_ENTRY_DAMAGED",
        s"The watermark entry $file is damaged: $reason.",
        RestoreEntry)

  final case class EntryEmpty(file: String) extends TidemarkError(
        "CHECKPOINT_ENTRY_EMPTY",
        s"The watermark entry $file is empty.",
        RestoreEntry)

  final case class EntryNewer(file: String, version: Int, knownVersion: Int) extends TidemarkError(
        "CHECKPOINT_ENTRY_NEWER",
        s"The watermark entry $file has format version $version; this Tidemark reads up to $knownVersion.",
        "using the Tidemark version that wrote it, or a later one")

  final case class EntryNotWritten(file: String, reason: String) extends TidemarkError(
        "CHECKPOINT_ENTRY_NOT_WRITTEN",
        s"The watermark entry $file could not be written: $reason. Its batch is not committed.",
        "freeing space in the checkpoint or granting permission to write to it, and restarting the query, which runs that batch again")

  final case class EntryNotRead(file: String, reason: String) extends TidemarkError(
        "CHECKPOINT_ENTRY_NOT_READ",
        s"The watermark entry $file cannot be read: $reason.",
        "granting permission to read the checkpoint, or restoring the file from a backup, and restarting the query")

  final case class EntryTooLong(file: String) extends TidemarkError(
        "CHECKPOINT_ENTRY_TOO_LONG",
        s"The watermark entry $file would be longer than 2 GB.",
        "splitting the query's inputs by something that has shorter values, or fewer of them")

  final case class EntryMissing(query: String, file: String) extends TidemarkError(
        "CHECKPOINT_ENTRY_MISSING",
        s"The watermark entry $file is missing. Query $query has operators that carry a second event-time column, and only " +
          "that entry holds its oldest value in state.",
        "restoring the file from a backup, or by starting with a new checkpoint")

  final case class NoLog(checkpoint: String, reason: String = "it has no folder 'tidemark', or that folder is empty")
      extends TidemarkError(
        "NO_LOG",
        s"There is no watermark log in '$checkpoint': $reason.",
        "giving the checkpoint location of a query that has completed a batch with Tidemark")

  final case class NoCut(checkpoint: String, time: String, reason: String) extends TidemarkError(
        "NO_CUT",
        s"The log in '$checkpoint' has no batch for $time: $reason.",
        "asking for a time that the log covers. The setting spark.sql.streaming.minBatchesToRetain says how many batches " +
          "a query keeps")

  final case class QueryIsRunning(checkpoint: String, query: String) extends TidemarkError(
        "QUERY_IS_RUNNING",
        s"The checkpoint '$checkpoint' was not changed: query $query is running on it.",
        "stopping the query, and starting it again after the correction")

  final case class EntryChanged(file: String, batch: Long) extends TidemarkError(
        "ENTRY_CHANGED",
        s"The correction '$file' was made while the query ran, by another process. Batch $batch was decided without it, so it " +
          "is not committed.",
        "starting the query again, which continues from the correction")

  final case class BatchNotCommitted(checkpoint: String, batch: Long) extends TidemarkError(
        "BATCH_NOT_COMMITTED",
        s"The checkpoint '$checkpoint' was not changed: batch $batch was begun and is not committed, so it has to run again as it " +
          "was decided then.",
        s"starting the query as it is until batch $batch is committed, such as with Trigger.AvailableNow, and stopping it")

  final case class UnknownKey(checkpoint: String, key: String, keys: Seq[String]) extends TidemarkError(
        "UNKNOWN_KEY",
        s"No watermark in '$checkpoint' has the key '$key'; there are ${quoted(keys)}.",
        "giving one of these keys")

  /** @param splits some of those that the input has */
  final case class UnknownSplit(checkpoint: String, key: String, split: String, splits: Seq[String])
      extends TidemarkError(
        "UNKNOWN_SPLIT",
        s"The input '$key' in '$checkpoint' has no split '$split'; " +
          (if (splits.isEmpty) "it is not split." else s"there are ${quoted(splits)}."),
        if (splits.isEmpty) "correcting the whole input"
        else "giving the name of a split as tidemark.watermark_log shows it")

  final case class SplitIsWriter(checkpoint: String, key: String, split: String) extends TidemarkError(
        "SPLIT_IS_WRITER",
        s"The split '$split' of input '$key' in '$checkpoint' is a writer, whose marks are in a mark log. It would return with them.",
        "noting the writer's end in the mark log, by end() of a writer with that name")
}
