"""`make compare`: small queries on real input, each in several ways, to see where stock Spark is enough."""
