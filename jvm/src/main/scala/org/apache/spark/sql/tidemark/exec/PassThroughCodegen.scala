package org.apache.spark.sql.tidemark.exec

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext
import org.apache.spark.sql.execution.{CodegenSupport, UnaryExecNode}

/** An operator that looks at the rows of its input, in one piece of generated code with it. */
private[exec] trait PassThroughCodegen extends UnaryExecNode with CodegenSupport {

  override def inputRDDs(): Seq[RDD[InternalRow]] = child match {
    case code: CodegenSupport => code.inputRDDs()
    case other => other.execute() :: Nil
  }

  override protected def doProduce(ctx: CodegenContext): String = child.asInstanceOf[CodegenSupport].produce(ctx, this)
}
