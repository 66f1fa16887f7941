import sbt._
import sbt.Keys._

/** The jars of a real Kafka broker, and of Spark's connector to it, for the examples that read from one.
  *
  * They are resolved and copied, never compiled against: the broker is run as a process of its own, the connector is given
  * to Spark by `spark.jars`. Each set is a configuration by itself, as the broker's client is newer than the connector's.
  */
object KafkaJars {
  private val Broker = config("kafka-broker").hide
  private val Connector = config("kafka-connector").hide

  private val broker = Seq(
    "org.apache.kafka" % "kafka_2.13" % "4.1.1",
    // Without it the broker says nothing, not even why it did not start.
    "org.slf4j" % "slf4j-simple" % "1.7.36")

  /** Exactly these: all else that they want, Spark has. */
  private val connector = Seq(
    "org.apache.spark" % "spark-sql-kafka-0-10_2.13" % "4.2.0",
    // The last one that Central has.
    "org.apache.spark" % "spark-token-provider-kafka-0-10_2.13" % "4.0.0",
    // A client of 4.x lacks a method that the connector calls.
    "org.apache.kafka" % "kafka-clients" % "3.9.2",
    "org.apache.commons" % "commons-pool2" % "2.13.1")

  val kafkaJars = taskKey[Unit]("Copies the jars of a Kafka broker and of Spark's connector into target/kafka.")

  val settings: Seq[Setting[_]] = Seq(
    ivyConfigurations ++= Seq(Broker, Connector),
    libraryDependencies ++= broker.map(_ % Broker) ++ connector.map(module => (module % Connector).intransitive()),
    kafkaJars := {
      val resolved = update.value
      CopyJars(resolved, Broker, target.value / "broker")
      CopyJars(resolved, Connector, target.value / "connector")
    })
}
