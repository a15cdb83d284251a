"""The plotting kernel of the views: SVG and PNG pictures, axes, heat maps, bars, and text forms."""
