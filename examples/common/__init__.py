"""What the examples share: a session of either engine, their two workers, the progress bar, a table."""
