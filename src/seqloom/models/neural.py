"""Base class of neural models: torch modules trained by gradient descent."""

from abc import ABC
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ..batch import Batch, Sequences
from ..errors import ModelError
from ..model import Model, Weights
from ..nn.embedding import word_embedding
from ..nn.rnn import RNN
from ..signature import SOURCE_SPACES, Signature


class Neural(nn.Module, Model, ABC):
    """A model whose weights are the parameters of a torch module."""

    source_spaces = SOURCE_SPACES  # there is an input layer for each

    def __init__(self, signature: Signature) -> None:
        nn.Module.__init__(self)
        self.signature = signature

    @staticmethod
    def seed(number: int) -> None:
        torch.manual_seed(number)

    @staticmethod
    @contextmanager
    def kept_random_state() -> Iterator[None]:
        state = torch.get_rng_state()
        try:
            yield
        finally:
            torch.set_rng_state(state)

    def loss(self, batch: Batch) -> Float[Tensor, ""]:
        """Cross-entropy: nats per target token."""
        return -self.log_prob(batch).sum() / int(batch.target.lengths.sum())

    def embedding_layer(self) -> nn.Module | None:
        """The layer that gives one embedding for each input token; None if there is none."""
        modules = self._modules
        return modules.get("source_input", modules.get("input"))

    def find_singletons(self, sources: Sequence[np.ndarray]) -> None:
        if words := word_embedding(self._modules.get("source_input", self._modules.get("input"))):
            words.find_singletons(tokens[:, 0] if tokens.ndim > 1 else tokens for tokens in sources)

    def class_log_probs(self, source: Sequences) -> Float[Tensor, "batch position classes"]:
        """Log-probabilities of all labels at each position; real-valued outputs as they are."""
        raise TypeError(f"{type(self).__name__} does not predict labels")

    def gradient_times_input(
        self,
        batch: Batch,
        positions: Int[np.ndarray, " batch"] | None = None,
        *,
        scale: float | Float[np.ndarray, " batch"] = 1.0,
    ) -> tuple[Float[np.ndarray, " batch"], Float[np.ndarray, "batch time"]]:
        """Gradient × input: embeddings times the gradient of each target's log-probability."""
        captured: list[tuple[Tensor, Tensor]] = []

        def replace_output(layer: nn.Module, inputs: Any, embeddings: Tensor) -> Tensor:
            # A leaf in place of the layer's output: the gradient stops here, whatever the layer is.
            factor = torch.as_tensor(scale, dtype=embeddings.dtype).reshape(-1, 1, 1)
            leaf = (factor * embeddings).detach().requires_grad_()
            captured.append((embeddings.detach(), leaf))
            return leaf

        if (layer := self.embedding_layer()) is None:
            raise TypeError(f"{type(self).__name__} does not embed single tokens")
        hook = layer.register_forward_hook(replace_output)
        try:
            with self.inference_mode(), torch.enable_grad():
                if positions is None:
                    log_prob = self.log_prob(batch)
                else:
                    log_prob = _at(self.class_log_probs(batch.source), positions, batch.target)
                ((embeddings, leaf),) = captured
                (gradient,) = torch.autograd.grad(log_prob.sum(), leaf)
        finally:
            hook.remove()
        return log_prob.detach().numpy(), (embeddings * gradient).sum(-1).numpy()

    def check_length(self, longest: int) -> None:
        for module in self.modules():
            if isinstance(module, RNN):
                module.check_length(longest)

    def weights(self) -> Weights:
        return {name: tensor.detach().numpy() for name, tensor in self.state_dict().items()}

    def restore(self, weights: Mapping[str, np.ndarray]) -> None:
        expected = {name: tuple(tensor.shape) for name, tensor in self.state_dict().items()}
        saved = {name: tuple(array.shape) for name, array in weights.items()}
        if wrong := sorted(
            name for name in expected.keys() | saved.keys() if expected.get(name) != saved.get(name)
        ):
            name = wrong[0]
            raise ModelError(
                "M111",
                "the weights do not fit this model",
                notes=[f"{name}: saved {saved.get(name)}, expected {expected.get(name)}"],
                help=["a recipe belongs to its weights: restore recipe.toml, or train anew"],
            )
        self.load_state_dict({name: torch.from_numpy(np.array(a)) for name, a in weights.items()})
        self.eval()  # restored weights are for inference; training calls `train` itself

    def num_parameters(self) -> int:
        return sum(weight.numel() for weight in self.parameters())  # shared weights count once

    @contextmanager
    def inference_mode(self) -> Iterator[None]:
        """No dropout, no gradients."""
        was_training = self.training
        if was_training:  # `eval` visits every module, which takes longer than a small model's step
            self.eval()
        try:
            with torch.no_grad():
                yield
        finally:
            if was_training:
                self.train()


def _at(
    log_probs: Float[Tensor, "batch position classes"],
    positions: Int[np.ndarray, " batch"],
    target: Sequences,
) -> Float[Tensor, " batch"]:
    """The log-probability of one label at one position of each row; of real numbers, their sum."""
    rows = torch.arange(len(log_probs))
    selected = log_probs[rows, torch.from_numpy(positions)]
    if target.values.ndim > 2:
        return selected.sum(-1)
    return selected[rows, torch.from_numpy(target.values[:, 0])]
