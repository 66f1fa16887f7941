package io.tidemark

import java.nio.file.{Files, Paths}

import scala.jdk.CollectionConverters._
import scala.reflect.runtime.universe._
import scala.util.Using

/** The public Scala API as text: what a program can name in the package `io.tidemark`, without the packages in it. */
object PublicApi {

  /** A line for each class or object, and below it one for each of its members. */
  def text: String =
    topLevel.filter(isPublic).flatMap(described(_, "")).mkString("", "\n", "\n")

  private val mirror = runtimeMirror(getClass.getClassLoader)

  /** What the package has, by the class files in the folder that it comes from. */
  private def topLevel: Seq[Symbol] = {
    val classes = Paths.get(classOf[TidemarkExtension].getProtectionDomain.getCodeSource.getLocation.toURI)
    val files = Using.resource(Files.list(classes.resolve("io/tidemark")))(_.iterator.asScala.toVector)
    val names = files.map(_.getFileName.toString).filter(_.endsWith(".class")).map(_.stripSuffix(".class"))
    // An object has a class of its own with a dollar at its end.
    names.filter(name => !name.stripSuffix("$").contains('$')).sorted.map { name =>
      if (name.endsWith("$")) mirror.staticModule(s"io.tidemark.${name.stripSuffix("$")}")
      else mirror.staticClass(s"io.tidemark.$name")
    }.filter(_.info != NoType)
  }

  private def isPublic(symbol: Symbol): Boolean = symbol.isPublic && symbol.privateWithin == NoSymbol

  private def described(symbol: Symbol, indent: String): Seq[String] = {
    val all = (if (symbol.isModule) symbol.asModule.moduleClass else symbol).info
    val (inner, members) = all.decls.toSeq
      .filter(member => isPublic(member) && !member.isSynthetic && !isField(member))
      .filterNot(symbol.isModule && _.isConstructor)
      .partition(member => member.isClass || member.isModule)
    s"$indent${kind(symbol)} ${symbol.fullName}${types(all.typeParams)}${parents(all)}" +:
      (members.map(member => s"$indent  ${signature(member)}").sorted ++
        inner.sortBy(_.toString).flatMap(described(_, s"$indent  ")))
  }

  /** Programs see its getter. */
  private def isField(member: Symbol): Boolean = member.isTerm && !member.isMethod && !member.isModule

  private def kind(symbol: Symbol): String =
    if (symbol.isModule) "object" else if (symbol.asClass.isTrait) "trait" else "class"

  private def types(parameters: Seq[Symbol]): String =
    if (parameters.isEmpty) "" else parameters.map(_.name).mkString("[", ", ", "]")

  private def parents(of: Type): String =
    of.baseClasses.tail.map(_.fullName).filterNot(_.startsWith("scala.Any")).filter(_ != "java.lang.Object")
      .mkString(" extends ", ", ", "").stripSuffix(" extends ")

  private def signature(member: Symbol): String = member match {
    case method: MethodSymbol =>
      val lists = method.paramLists.map(_.map(parameter).mkString("(", ", ", ")")).mkString
      val result = if (method.isConstructor) "" else s": ${method.returnType}"
      s"def ${method.name.decodedName}${types(method.typeParams)}$lists$result"
    case other => s"type ${other.name} = ${other.info}"
  }

  private def parameter(symbol: Symbol): String = {
    val default = if (symbol.asTerm.isParamWithDefault) " = ..." else ""
    s"${symbol.name.decodedName}: ${symbol.info}$default"
  }
}
