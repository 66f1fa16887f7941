"""A backlog of which one part is behind the others: flights of January 2001, counted by the hour.

Spark has one clock for a whole input, so the part that is ahead makes the rows of the one
behind it late. With ``split_by`` every part has a clock of its own, and the input waits for
the one behind. Two such backlogs, each with a main of its own:

- ``lagging_partition``: a topic of a real Kafka broker, one partition a month behind;
- ``files_per_airport``: files of the twenty busiest airports, of which no two are alike.

What comes out is compared, row for row, with what the rule alone says (``oracle``: no Spark).
"""
