"""The compiled steps: what a vector, a tile and a frame are, and a file for each kind of cells."""
