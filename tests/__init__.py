from . import shapes as shapes
