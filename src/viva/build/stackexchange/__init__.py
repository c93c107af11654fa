"""From a dump of Stack Overflow to a set: the pool, and what experts make of it."""
