"""Shapes and types of every call in the package are checked while the tests run."""

from beartype import BeartypeConf, beartype

checked = beartype(conf=BeartypeConf(is_pep484_tower=True))  # an int is a float, as Python has it
