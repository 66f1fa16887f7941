addSbtPlugin("org.scalameta" % "sbt-scalafmt" % "2.6.2")
addSbtPlugin("pl.project13.scala" % "sbt-jmh" % "0.4.8")
// `publishSigned`, for a release
addSbtPlugin("com.github.sbt" % "sbt-pgp" % "2.3.1")
// the public Scala API beside that of the last release
addSbtPlugin("com.typesafe" % "sbt-mima-plugin" % "1.1.4")
