"""The plotting kernel: SVG, axes, heat maps, bars, text."""
