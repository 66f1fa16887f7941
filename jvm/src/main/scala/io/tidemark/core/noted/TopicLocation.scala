package io.tidemark.core.noted

/** A mark log in Kafka: `kafka:<topic>`, or `kafka:<topic>/<stream>` where one topic has the marks of several streams.
  *
  * @param stream the first part of the keys of the log's records; empty if the topic has the marks of one stream
  */
final case class TopicLocation(topic: String, stream: String)

object TopicLocation {
  private val Prefix = "kafka:"
  private val Topic = raw"kafka:([A-Za-z0-9._-]{1,249})(?:/([^\x00]{1,200}))?".r

  /** Whether a location can be nothing but that of a topic. */
  def isTopic(location: String): Boolean = location.startsWith(Prefix)

  /** `None` for everything that is not the location of a topic. */
  def parse(location: String): Option[TopicLocation] = location match {
    case Topic(topic, stream) => Some(TopicLocation(topic, Option(stream).getOrElse("")))
    case _ => None
  }
}
