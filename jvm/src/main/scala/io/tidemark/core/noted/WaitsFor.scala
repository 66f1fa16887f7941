package io.tidemark.core.noted

/** What has to be read before a mark is passed.
  *
  * @param what a partition (`orders-2`), `the table's version`, or a file (`file a/1.json`), as a message says it
  * @param at where the mark is: the offset of the next record, or the number that has to be reached; `None` for a file
  * @param read how far has been read, in the same unit; `None` if nothing has
  * @param why why a file may never be read, if that was seen: `which does not exist`
  */
final case class WaitsFor(what: String, at: Option[Long], read: Option[Long], why: Option[String] = None) {
  override def toString: String =
    what + at.fold("")(n => s" at $n") + read.fold("")(n => s" (read: $n)") + why.fold("")(text => s", $text")
}

object WaitsFor {

  /** Every file from before the first mark of a writer that was not purged. */
  val Purged: WaitsFor = WaitsFor("all files from before its first kept mark", None, None)

  /** @param ahead the first mark of a writer that has not been passed
    * @return `None` if the mark has no position, or what it waits for cannot be told
    */
  def apply(ahead: Mark, read: SourcePosition): Option[WaitsFor] = ahead.position.flatMap { position =>
    (position, read) match {
      case (Position.Kafka(noted), SourcePosition.Kafka(offsets)) => partition(noted, offsets)
      case (Position.Kafka(noted), SourcePosition.Nothing) => partition(noted, noted.map(_._1 -> Map.empty))
      case (Position.Delta(table, _), SourcePosition.Delta(other, _)) if table != other =>
        Some(WaitsFor(s"table $table", None, None))
      case (Position.Delta(_, at), SourcePosition.Delta(_, read)) =>
        Some(WaitsFor("the table's version", Some(at), read))
      case (Position.Delta(_, at), _) => Some(WaitsFor("the table's version", Some(at), None))
      case (Position.Number(at), SourcePosition.Number(read)) =>
        Some(WaitsFor("the source's number", Some(at), Some(read)))
      case (Position.Number(at), _) => Some(WaitsFor("the source's number", Some(at), None))
      case (Position.SinkBatch(at), _) => Some(WaitsFor("the sink's batch", Some(at), None))
      case (Position.Files(names), files: SourcePosition.Files) =>
        names.find(files.isKnownUnread).map(name => WaitsFor(s"file $name", None, None, files.whyUnread(name)))
      case (Position.Files(names), _) => names.headOption.map(name => WaitsFor(s"file $name", None, None))
      case _ => None
    }
  }

  private def partition(
      noted: Map[String, Map[Int, Long]],
      offsets: Map[String, Map[Int, Long]]): Option[WaitsFor] = {
    val behind = for {
      (topic, partitions) <- noted.toSeq
      read <- offsets.get(topic).toSeq
      (partition, at) <- partitions
      if read.get(partition).forall(_ < at)
    } yield (topic, partition, at, read.get(partition))
    behind.minByOption { case (topic, partition, _, _) => (topic, partition) }.map {
      case (topic, partition, at, read) => WaitsFor(s"$topic-$partition", Some(at), read)
    }
  }
}
