"""Time series: schema, calendar features, scaling, windows."""
