package io.tidemark

import scala.jdk.CollectionConverters._

import org.apache.spark.SparkThrowable

/** Carries a [[TidemarkError]] to the user; `getCondition` gives `TIDEMARK.CODE`, and `getMessageParameters` the parameters
  * of that code.
  *
  * An `IllegalArgumentException`, because PySpark has an error class for that, on Spark Connect too. Its users see the
  * sentence, and not a hundred lines of Java around it.
  */
final class TidemarkException(val error: TidemarkError, cause: Throwable = null)
    extends IllegalArgumentException(error.message, cause)
    with SparkThrowable {
  override def getCondition: String = s"TIDEMARK.${error.code}"
  override def getMessageParameters: java.util.Map[String, String] = error.parameters.asJava
}
