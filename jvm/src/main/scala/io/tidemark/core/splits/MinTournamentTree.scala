package io.tidemark.core.splits

/** The minimum of many numbers of which one changes at a time: a tournament tree whose matches have eight players.
  *
  * A match is one cache line, and its winner is kept one level above; raising a number that is not the winner of its
  * match ends there. So a change costs a constant on average, and a logarithm (to base 8) at worst; the tree itself
  * takes a seventh of the numbers' own space. Grows, never shrinks; allocates nothing but when it grows.
  */
private[core] final class MinTournamentTree private (private var levels: Array[Array[Long]]) {
  import MinTournamentTree._

  def this(capacity: Int) = this(MinTournamentTree.levels(math.max(capacity, MinTournamentTree.Players)))

  /** The smallest number; [[MinTournamentTree.Absent]] if there is none. */
  def least: Long = levels(levels.length - 1)(0)

  def apply(index: Int): Long = levels(0)(index)

  def capacityNow: Int = levels(0).length

  /** Sets one number, and plays again the matches that it can change. */
  def update(index: Int, value: Long): Unit = {
    val numbers = levels(0)
    val old = numbers(index)
    numbers(index) = value
    replay(index, old, value)
  }

  /** Makes room for `size` numbers; those that are new are absent. */
  def grow(size: Int): Unit =
    if (size > capacityNow) {
      val grown =
        MinTournamentTree.levels(math.max(size, math.min(capacityNow.toLong * 2, Int.MaxValue - Players).toInt))
      System.arraycopy(levels(0), 0, grown(0), 0, capacityNow)
      levels = grown
      replayAll()
    }

  /** The numbers themselves, for one pass over all of them; [[replayAll]] has to follow. */
  def numbers: Array[Long] = levels(0)

  /** Plays every match again, after a pass over [[numbers]]. */
  def replayAll(): Unit = {
    var level = 1
    while (level < levels.length) {
      val players = levels(level - 1)
      val winners = levels(level)
      val matches = players.length / Players
      var at = 0
      while (at < matches) {
        winners(at) = leastOf(players, at * Players)
        at += 1
      }
      level += 1
    }
  }

  private def replay(index: Int, old: Long, value: Long): Unit = {
    var player = index
    var before = old
    var after = value
    var level = 1
    while (level < levels.length) {
      val winners = levels(level)
      player >>>= PlayersLog2
      val won = winners(player)
      val winner =
        if (after <= won) after
        else if (before > won) return
        else leastOf(levels(level - 1), player << PlayersLog2)
      if (winner == won) return
      winners(player) = winner
      before = won
      after = winner
      level += 1
    }
  }
}

private[core] object MinTournamentTree {

  /** Takes no part in any match. */
  val Absent: Long = Long.MaxValue

  private final val PlayersLog2 = 3
  private final val Players = 1 << PlayersLog2

  private def levels(size: Int): Array[Array[Long]] = {
    val sizes = Iterator.iterate(size)(matchesOf).takeWhile(_ > 1).map(matchesOf(_) * Players).toArray
    // The last level has one place only: the winner of all.
    (sizes :+ 1).map { places =>
      val level = new Array[Long](places)
      java.util.Arrays.fill(level, Absent)
      level
    }
  }

  private def matchesOf(players: Int): Int = ((players.toLong + Players - 1) / Players).toInt

  private def leastOf(players: Array[Long], from: Int): Long = {
    var least = players(from)
    var at = from + 1
    while (at < from + Players) {
      least = math.min(least, players(at))
      at += 1
    }
    least
  }
}
