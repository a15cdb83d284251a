"""A recurrence taken one step at a time, because something feeds back into it."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import linear

from .cells import State
from .recurrence import Recurrence


class Walk:
    """The steps of a recurrence over some sequences; what is dropped is drawn once for all steps.

    W [x; y] = Wˣ x + Wʸ y, where x is known beforehand and y only at its step: `products` reads x,
    of all steps at once if it can be had, and `step` adds y.
    """

    def __init__(self, recurrence: Recurrence, rows: int, known: int) -> None:
        self.recurrence, self.layers = recurrence, recurrence.stack
        first = self.layers[0]
        self.masks = [layer.mask(rows) for layer in self.layers]
        between = recurrence.dropout
        self.between = [between.drawn(rows, layer.cell.hidden) for layer in self.layers[1:]]
        self.known, self.fed = first.cell.read.weight.split(
            [known, first.cell.read.in_features - known], dim=1
        )  # cut once: at every step it would cost a gradient of the whole
        self.norm, self.bias = first.read_norm, first.cell.read.bias

    def products(self, x: Float[Tensor, "*place known"]) -> Float[Tensor, "*place products"]:
        """Wˣ x, with the bias unless the sum is to be normalised first."""
        return linear(x, self.known, None if self.norm else self.bias)

    def step(
        self, a: Float[Tensor, "batch products"], fed: list[Tensor], state: State
    ) -> tuple[Float[Tensor, "batch hidden"], State]:
        """One step of every layer, from the products of what was known and what is fed back."""
        if fed:
            a = torch.addmm(a, torch.cat(fed, dim=-1), self.fed.t())
        if self.norm is not None:
            a = self.norm(a) + self.bias
        new: State = ()
        h, states = a, self.recurrence.split(state)
        for number, (layer, old, mask) in enumerate(
            zip(self.layers, states, self.masks, strict=True)
        ):
            if number:
                dropped = self.between[number - 1]
                a = layer.products(h if dropped is None else h * dropped)
            if torch.is_grad_enabled():  # one node for the way back, not one for every product
                outputs, after = layer.onward(a[:, None], old, mask)
                output = outputs[:, 0]
            else:
                after = layer.after(a, old, mask)
                output = after[0]
            h = self.recurrence.above(h, output, number)
            new += after
        return h, new
