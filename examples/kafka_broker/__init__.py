"""A real Kafka broker for an example: one process on this machine, gone when the example is."""
