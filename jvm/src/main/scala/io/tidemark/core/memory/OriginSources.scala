package io.tidemark.core.memory

import scala.collection.mutable

import io.tidemark.core.OriginName

/** What an origin reads. It tells origins of the same key apart after a restart, if the plan has them in another order.
  *
  * @param of its sources, sorted: the names that the user gave them, or else what each looks like
  * @param areNames whether these are names; Spark finds the offsets of a source by its name, or else by its place
  */
final case class OriginSources(of: Seq[String], areNames: Boolean)

object OriginSources {

  /** The origins that an earlier run has left in the checkpoint; `None` if it did not write what they read. */
  type Known = Map[OriginName, Option[OriginSources]]

  /** Names for the origins of a plan.
    *
    * An origin whose sources have names is the origin that read these sources, or else some of them. Any other is found by its
    * place among those of its key that are left.
    * @param asked key and sources of each, in plan order
    */
  def names(asked: Seq[(String, OriginSources)], known: Known): Seq[OriginName] = {
    val free = mutable.TreeSet.from(known.keys)(Ordering.by(name => (name.key, name.ordinal)))
    def take(which: OriginName => Boolean): Option[OriginName] = {
      val found = free.find(which)
      found.foreach(free.remove)
      found
    }
    def isNamed(name: OriginName) = known(name).exists(_.areNames)
    def takeNamed(key: String, sources: OriginSources)(is: Seq[String] => Boolean) =
      if (sources.areNames)
        take(name => name.key == key && isNamed(name) && known(name).exists(former => is(former.of)))
      else None
    val exact = asked.map { case (key, sources) => takeNamed(key, sources)(_ == sources.of) }
    val named = exact.zip(asked).map { case (found, (key, sources)) =>
      found.orElse(takeNamed(key, sources)(_.exists(sources.of.contains)))
    }
    val next = mutable.HashMap.empty[String, Int]
    known.keys.foreach(name => next(name.key) = math.max(next.getOrElse(name.key, 0), name.ordinal + 1))
    named.zip(asked).map { case (found, (key, _)) =>
      found.orElse(take(name => name.key == key && !isNamed(name))).getOrElse {
        val ordinal = next.getOrElse(key, 0)
        next(key) = ordinal + 1
        OriginName(key, ordinal)
      }
    }
  }

  /** Origins that nothing but their place tells apart, and whose sources have changed places: each group is those of a key.
    */
  def exchanged(now: Map[OriginName, OriginSources], known: Known): Seq[Set[OriginName]] = {
    val pairs = for {
      (name, sources) <- now.toSeq if !sources.areNames
      before <- known.get(name).flatten if !before.areNames
    } yield (name, sources, before)
    pairs.groupBy(_._1.key).values.collect {
      case same if same.exists { case (_, sources, before) => sources != before && same.exists(_._3 == sources) } =>
        same.map(_._1).toSet
    }.toSeq
  }
}
