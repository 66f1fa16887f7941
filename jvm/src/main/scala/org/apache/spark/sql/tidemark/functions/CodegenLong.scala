package org.apache.spark.sql.tidemark.functions

import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, CodeGenerator}

/** A number of one batch in generated code: not as a literal, by which the code would be another one for every batch. */
private[tidemark] object CodegenLong {

  /** @return the name of the field that has it */
  def apply(ctx: CodegenContext, name: String, value: Long): String = {
    val boxed = ctx.addReferenceObj(name, Long.box(value), classOf[java.lang.Long].getName)
    ctx.addMutableState(CodeGenerator.JAVA_LONG, name, field => s"$field = $boxed.longValue();")
  }
}
