package org.apache.spark.sql.tidemark.functions

import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, CodeGenerator}

/** A number of one batch in generated code. As a literal it would make Spark compile new code for every batch. */
private[tidemark] object CodegenLong {

  /** @return the name of the field that holds the number */
  def apply(ctx: CodegenContext, name: String, value: Long): String = {
    val boxed = ctx.addReferenceObj(name, Long.box(value), classOf[java.lang.Long].getName)
    ctx.addMutableState(CodeGenerator.JAVA_LONG, name, field => s"$field = $boxed.longValue();")
  }
}
