import sbt._
import sbt.Keys._

/** The jars of Delta and of Iceberg for one Spark minor, for the tests that run Tidemark beside them.
  *
  * Like those of Kafka they are resolved and copied, never compiled against.
  */
object OtherJars {
  private val Others = config("others").hide

  /** Exactly these: all else that they want, Spark has. */
  private val jars = Seq(
    "io.delta" % "delta-spark_4.1_2.13" % "4.4.0",
    "io.delta" % "delta-storage" % "4.4.0",
    "io.delta" % "delta-kernel-api" % "4.4.0",
    "io.delta" % "delta-kernel-defaults" % "4.4.0",
    "io.delta" % "delta-kernel-unitycatalog" % "4.4.0",
    "org.apache.iceberg" % "iceberg-spark-runtime-4.1_2.13" % "1.12.0")

  val otherJars = taskKey[Unit]("Copies the jars of Delta and Iceberg into target/others.")

  val settings: Seq[Setting[_]] = Seq(
    ivyConfigurations += Others,
    libraryDependencies ++= jars.map(module => (module % Others).intransitive()),
    otherJars := CopyJars(update.value, Others, target.value / "jars"))
}
