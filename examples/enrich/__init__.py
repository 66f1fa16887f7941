"""`make enrich`: asks a slow service about each departure, in the ways that users do it, and by `map_async`."""
