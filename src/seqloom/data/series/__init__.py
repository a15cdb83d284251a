"""Time series: schema, dates, calendar features, scaling, windows, interval recalibration."""
