"""A backfill that begins where the query's own log says: no guessed offset, no row missed."""
