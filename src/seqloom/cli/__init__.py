"""Command-line interface: one module per command, imported only when that command is chosen."""
