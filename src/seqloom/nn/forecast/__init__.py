"""Output layers of forecasters: distributions over what is next in time."""
