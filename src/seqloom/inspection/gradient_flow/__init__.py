"""The anatomy of memory: how far back a recurrent layer feels, and what its gates do."""
