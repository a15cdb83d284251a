"""CTranslate2 export of Transformer encoder-decoders: `seqloom export`."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..data.text.vocabulary import SPECIAL_TOKENS
from ..errors import ModelError, UsageError
from ..model import Model
from ..models.transformer_encoder_decoder import TransformerEncoderDecoder
from ..nn.embedding import Embedding
from ..nn.output.heads import SoftmaxOutput
from ..nn.transformer.layers import TransformerBlocks, TransformerLayer
from ..nn.transformer.positions import SinusoidalPositions
from ..runs.run import Run
from ..signature import BEGIN, END, PAD, UNKNOWN, Tokens
from ..training.files import cannot_write

PACKAGE = "ctranslate2"
NEVER_LOGIT = -1e9
MAX_POSITIONS = 1024  # of sinusoids; CTranslate2 truncates sources to as many tokens


def export_ctranslate2(folder: str | Path, run: Run, *, force: bool = False) -> None:
    """Write the model of a run in the CTranslate2 format, with its vocabularies.

    It gives the same translations there. Source tokens go in without an end token, which is added.
    """
    folder, task = Path(folder), run.task
    if find_spec(PACKAGE) is None:
        raise UsageError(
            "U050",
            f"the package {PACKAGE} is not installed",
            help=["pip install 'seqloom[ctranslate2]'"],
        )
    model = require_exportable(run.model, run.name)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())) and not force:
        raise UsageError("U051", f"{folder} is there already", help=["--force   replace it"])
    source, target = (list(getattr(task, side).tokens) for side in ("source", "target"))
    spec = specification(model, source, target)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        spec.save(str(folder))
    except OSError as error:
        raise cannot_write(folder, error) from error


def require_exportable(model: Model, name: str) -> TransformerEncoderDecoder:
    """The model, or an error if CTranslate2 cannot run it."""
    if not isinstance(model, TransformerEncoderDecoder):
        raise ModelError(
            "M181",
            f"{name} is not a Transformer encoder-decoder, and only these can be exported",
            help=["train one:  seqloom train translate FILE -m transformer-encoder-decoder"],
        )
    signature, transformer_options = model.signature, model.transformer_options
    wrong = [
        (transformer_options.positions == "rotary", "positions = rotary"),
        (
            transformer_options.attention_window > 0,
            f"attention_window = {transformer_options.attention_window}",
        ),
        (
            not isinstance(model.output, SoftmaxOutput),
            f"adaptive_softmax = {list(model.token_options.adaptive_softmax)}",
        ),
        (not isinstance(signature.source, Tokens), "a source of numbers or labels"),
        (not isinstance(signature.target, Tokens), "a target of labels"),
    ]
    for is_so, what in wrong:
        if is_so:
            raise ModelError(
                "M181",
                f"{name} has {what}, which CTranslate2 does not support",
                help=["train a run without it; positions may be sinusoid or learned"],
            )
    return model


def specification(model: TransformerEncoderDecoder, source: list[str], target: list[str]) -> Any:
    """The model as a CTranslate2 specification with weights."""
    specs = import_module(f"{PACKAGE}.specs")
    transformer_options = model.transformer_options
    counts = len(model.encoder.layers), len(model.decoder.layers)
    activations = {"relu": specs.Activation.RELU, "gelu": specs.Activation.GELU}
    spec = specs.TransformerSpec.from_config(
        counts,
        transformer_options.num_heads,
        pre_norm=transformer_options.norm == "before",
        activation=activations[transformer_options.activation],
    )
    with torch.no_grad():
        _fill_stack(spec.encoder, model.encoder)
        _fill_stack(spec.decoder, model.decoder)
        spec.encoder.embeddings[0].weight = _table(model.source_input)
        spec.decoder.embeddings.weight = _table(model.target_input)
        if isinstance(model.output, SoftmaxOutput):
            spec.decoder.projection.weight = _array(model.output.scores.weight)
            spec.decoder.projection.bias = _array(model.output.scores.bias)
            spec.decoder.projection.bias[[PAD, BEGIN]] = (
                NEVER_LOGIT  # never generated, as in our beam search
            )
    spec.register_source_vocabulary(source)
    spec.register_target_vocabulary(target)
    spec.config.unk_token, spec.config.bos_token = SPECIAL_TOKENS[UNKNOWN], SPECIAL_TOKENS[BEGIN]
    spec.config.eos_token = SPECIAL_TOKENS[END]
    spec.config.decoder_start_token = SPECIAL_TOKENS[BEGIN]
    spec.config.add_source_eos = True
    spec.validate()
    spec.optimize()
    return spec


def _fill_stack(spec: Any, stack: TransformerBlocks) -> None:
    positions = stack.positions
    if positions is not None:
        is_sinusoidal = isinstance(positions, SinusoidalPositions)
        length = max(MAX_POSITIONS, stack.context) if is_sinusoidal else stack.context
        zeros = next(stack.parameters()).new_zeros(1, length, stack.width)
        spec.position_encodings.encodings = _array(positions(zeros)[0])
        spec.scale_embeddings = is_sinusoidal  # √width x, as in Vaswani et al. (2017)
    for theirs, ours in zip(spec.layer, stack.blocks(), strict=True):
        _fill_layer(theirs, ours)
    if isinstance(stack.norm, nn.LayerNorm):
        _fill_norm(spec.layer_norm, stack.norm)


def _fill_layer(spec: Any, layer: TransformerLayer) -> None:
    own, cross = layer.attention, layer.cross_attention
    _fill_norm(spec.self_attention.layer_norm, layer.attention_norm)
    _fill_products(spec.self_attention.linear, [own.read, own.join])
    if cross is not None and layer.cross_norm is not None:
        _fill_norm(spec.attention.layer_norm, layer.cross_norm)
        _fill_products(spec.attention.linear, [cross.ask, cross.read, cross.join])
    _fill_norm(spec.ffn.layer_norm, layer.feed_norm)
    _fill_products([spec.ffn.linear_0, spec.ffn.linear_1], [layer.widen, layer.narrow])


def _fill_products(specs: list[Any], products: list[nn.Linear]) -> None:
    for spec, product in zip(specs, products, strict=True):
        spec.weight = _array(product.weight)
        if product.bias is not None:
            spec.bias = _array(product.bias)


def _fill_norm(spec: Any, norm: nn.LayerNorm) -> None:
    spec.gamma = _array(norm.weight)
    spec.beta = np.zeros_like(spec.gamma) if norm.bias is None else _array(norm.bias)


def _table(read: nn.Module) -> np.ndarray:
    if not isinstance(read, Embedding):
        raise TypeError("only token inputs have an embedding table")
    return _array(read.table.weight)


def _array(tensor: Tensor) -> np.ndarray:
    return np.array(tensor.detach().float().numpy())
