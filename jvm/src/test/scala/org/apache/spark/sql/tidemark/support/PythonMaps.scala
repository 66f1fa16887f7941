package org.apache.spark.sql.tidemark.support

import java.util.{List => JList, Map => JMap}

import org.apache.spark.api.python.{PythonBroadcast, PythonEvalType, SimplePythonFunction}
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.rdd.RDD
import org.apache.spark.resource.ResourceProfile
import org.apache.spark.sql.{classic, DataFrame, SparkSessionExtensions}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, MapInArrow, MapInPandas}
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.python.{MapInArrowExec, MapInPandasExec, UserDefinedPythonFunction}
import org.apache.spark.sql.types.StructType

/** `mapInPandas` and `mapInArrow` of functions that give every row back as it is. The logical plan is the one that Python
  * makes, and the physical nodes are Spark's but for the worker: none is started, for there is no Python here.
  */
final class PythonMaps extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit =
    extensions.injectPlannerStrategy(_ => PythonMaps.Strategy)
}

private[tidemark] object PythonMaps {
  import PythonEvalType.{SQL_MAP_ARROW_ITER_UDF, SQL_MAP_PANDAS_ITER_UDF}

  /** With the columns in their order, under the names and with the metadata of a schema. */
  def pandas(df: DataFrame, schema: StructType): DataFrame =
    dataset(df).mapInPandas(function(schema, SQL_MAP_PANDAS_ITER_UDF)(df.columns.toSeq.map(df(_)): _*))

  def arrow(df: DataFrame, schema: StructType): DataFrame =
    dataset(df).mapInArrow(function(schema, SQL_MAP_ARROW_ITER_UDF)(df.columns.toSeq.map(df(_)): _*))

  private def dataset(df: DataFrame) = df.asInstanceOf[classic.DataFrame]

  private def function(schema: StructType, evalType: Int) = {
    val nothing = SimplePythonFunction(
      Seq.empty[Byte],
      JMap.of[String, String](),
      JList.of[String](),
      "python",
      "3",
      JList.of[Broadcast[PythonBroadcast]](),
      null)
    UserDefinedPythonFunction("same", nothing, schema, evalType, udfDeterministic = true)
  }

  private object Strategy extends SparkStrategy {
    override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
      case MapInPandas(f, output, child, barrier, profile) =>
        new SameInPandas(f, output, planLater(child), barrier, profile) :: Nil
      case MapInArrow(f, output, child, barrier, profile) =>
        new SameInArrow(f, output, planLater(child), barrier, profile) :: Nil
      case _ => Nil
    }
  }

  private final class SameInPandas(
      f: Expression,
      out: Seq[Attribute],
      in: SparkPlan,
      barrier: Boolean,
      resources: Option[ResourceProfile])
      extends MapInPandasExec(f, out, in, barrier, resources) {
    override protected def doExecute(): RDD[InternalRow] = child.execute()
    override protected def withNewChildInternal(newChild: SparkPlan): SameInPandas =
      new SameInPandas(f, out, newChild, barrier, resources)
  }

  private final class SameInArrow(
      f: Expression,
      out: Seq[Attribute],
      in: SparkPlan,
      barrier: Boolean,
      resources: Option[ResourceProfile])
      extends MapInArrowExec(f, out, in, barrier, resources) {
    override protected def doExecute(): RDD[InternalRow] = child.execute()
    override protected def withNewChildInternal(newChild: SparkPlan): SameInArrow =
      new SameInArrow(f, out, newChild, barrier, resources)
  }
}
