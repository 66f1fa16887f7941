package org.apache.spark.sql.tidemark.columns

import io.tidemark.{NotedTimeErrors, TidemarkConf, TidemarkError, TidemarkException}

/** How a query notes its time.
  *
  * @param log where the marks go, a folder or a topic; `None` for the folder `_tidemark` in the path that is written
  * @param logOptions options for a topic, such as Kafka's brokers, where they are not those of the sink
  * @param writer the name under which the query writes marks; `None` for the query's id
  * @param lessMillis how much earlier than the watermark the noted time is
  * @param position where the rows go, if the sink does not tell: `kafka:topic,topic`, `delta:/path` or `files:/path`
  * @param positionOptions options for reading that position, such as Kafka's brokers
  * @param failsQuery whether a mark that cannot be written fails the query
  */
private[tidemark] final case class NoteOptions(
    log: Option[String],
    logOptions: Map[String, String],
    writer: Option[String],
    lessMillis: Long,
    position: Option[String],
    positionOptions: Map[String, String],
    failsQuery: Boolean)

private[tidemark] object NoteOptions {
  private val known = Set("to", "toOptions", "writer", "less", "position", "options", "failure")

  /** @throws TidemarkException if the text is not valid options */
  def parse(json: String): NoteOptions = {
    val options = JsonOptions.read(json, known)(invalid)
    NoteOptions(
      log(options),
      options.texts("toOptions"),
      text(options, "writer"),
      lessMillis(options),
      text(options, "position"),
      options.texts("options"),
      text(options, "failure").exists {
        case "fail" => true
        case "warn" => false
        case other => throw invalid(s"has the option 'failure' with '$other', which is neither fail nor warn")
      })
  }

  private def lessMillis(options: JsonOptions): Long = options.text("less").fold(0L) { value =>
    // All settings with a length of time read it alike.
    val allowed = TidemarkConf.IdleAfter.values.filterNot(_ == TidemarkConf.NoLength)
    TidemarkConf.IdleAfter.read(value).flatten.getOrElse(
      throw new TidemarkException(TidemarkError.InvalidOption("less", value, allowed)))
  }

  private def log(options: JsonOptions): Option[String] = options.field("to") match {
    case Some(path) if path.isTextual && MarkLogPath.isLocation(path.asText) => Some(path.asText)
    case Some(flag) if flag.isBoolean && flag.asBoolean => None
    case _ => throw invalid("has no option 'to' with the location of a mark log, or true")
  }

  private def text(options: JsonOptions, name: String): Option[String] = options.text(name).map { value =>
    if (value.isBlank) throw invalid(s"has the option '$name', which is not text") else value
  }

  private def invalid(why: String) = new TidemarkException(NotedTimeErrors.InvalidNoteTime(why))
}
