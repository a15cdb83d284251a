"""How models learn: one loop, a generator of events."""
