"""A query that reads the output of another one: with a delay that is guessed, and with noted time."""
