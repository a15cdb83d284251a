"""Training steps of JoeyNMT 2.3, in a process and an environment of its own.

From a shape as JSON it builds JoeyNMT's data, model, gradient clipping and optimizer from an
ordinary configuration, then trains for as many seconds as each line of standard input says, with
the steps of its `TrainManager`, and reports the tokens processed. `translate_training.py` starts
it; it does not import Seqloom.
"""

import json
import logging
import sys
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import torch
from joeynmt.builders import build_gradient_clipper, build_optimizer
from joeynmt.data import load_data
from joeynmt.model import build_model


def main() -> None:
    """Build the model, then train whenever a line arrives."""
    shape = json.loads(sys.argv[1])
    logging.disable(logging.INFO)
    torch.set_num_threads(shape["threads"])
    torch.manual_seed(1)
    source, target, data, *_ = load_data(data_of(shape), datasets=["train"])
    model = build_model(model_of(shape), source, target)
    model.loss_function = ("crossentropy", shape["label_smoothing"])
    learning = {"learning_rate": shape["learning_rate"], "optimizer": "adam"}
    optimizer = build_optimizer(learning, model.parameters())
    clipper = build_gradient_clipper(
        {"clip_grad_val": None, "clip_grad_norm": shape["max_grad_norm"]}
    )
    batches = forever(data, shape["batch_size"], model)
    weights = sum(weight.numel() for weight in set(model.parameters()))
    answer({"weights": weights, "symbols": [len(source), len(target)]})
    for line in sys.stdin:
        answer(turn(model, batches, optimizer, clipper, float(line)))


def turn(model: Any, batches: Any, optimizer: Any, clipper: Any, seconds: float) -> dict[str, Any]:
    """Train for so many seconds."""
    began, symbols, loss = time.perf_counter(), 0, 0.0
    model.train()
    while time.perf_counter() - began < seconds:
        batch = next(batches)
        batch.sort_by_src_length()
        total, _, _, correct = model(return_type="loss", **vars(batch))
        mean = batch.normalize(total, normalization="tokens", n_gpu=1, n_accumulation=1)
        mean.backward()
        loss, _ = mean.item(), correct.item()
        clipper(parameters=model.parameters())
        optimizer.step()
        model.zero_grad()
        symbols += int(batch.src_length.sum()) + int(batch.ntokens)
    return {"symbols": symbols, "seconds": time.perf_counter() - began, "loss": loss}


def forever(data: Any, size: int, model: Any) -> Iterator[Any]:
    """Batch after batch, epoch after epoch."""
    seed = 1
    places = {"eos_index": model.eos_index, "pad_index": model.pad_index}
    loader = data.make_iter(batch_size=size, batch_type="sentence", shuffle=True, **places)
    while True:
        data.seed = seed
        loader.batch_sampler.set_seed(seed)
        yield from loader
        seed += 1


def data_of(shape: dict[str, Any]) -> dict[str, Any]:
    """The [data] part of a configuration."""
    side = {"level": "word", "lowercase": False, "voc_min_freq": shape["min_frequency"]}
    source, target = ({**side, "lang": lang} for lang in shape["languages"])
    names = {"unk": "<unk>", "pad": "<pad>", "bos": "<s>", "eos": "</s>", "sep": None}
    places = {"unk_id": 0, "pad_id": 1, "bos_id": 2, "eos_id": 3, "sep_id": None}
    special = SimpleNamespace(**{f"{name}_token": symbol for name, symbol in names.items()})
    vars(special).update(places, lang_tags=[])
    return {
        "train": shape["train"],
        "src": source,
        "trg": target,
        "dataset_type": "plain",
        "special_symbols": special,
    }


def model_of(shape: dict[str, Any]) -> dict[str, Any]:
    """The [model] part of a configuration."""
    size, hidden, drop = shape["embedding_size"], shape["hidden_size"], shape["dropout"]
    embeddings = {"embedding_dim": size, "scale": shape["kind"] == "transformer", "dropout": drop}
    if shape["kind"] == "transformer":
        both = {
            "type": "transformer",
            "num_heads": shape["num_heads"],
            "embeddings": embeddings,
            "hidden_size": hidden,
            "ff_size": shape["feed_forward"],
            "dropout": drop,
            "layer_norm": "post",
            "num_layers": shape["layers"],
        }
        sides = {"encoder": both, "decoder": both}
        return {"initializer": "xavier_uniform", "tied_softmax": True, **sides}
    encoder = {
        "type": "recurrent",
        "rnn_type": "gru",
        "embeddings": embeddings,
        "hidden_size": hidden // 2,
        "bidirectional": True,
    }
    decoder = {
        "type": "recurrent",
        "rnn_type": "gru",
        "embeddings": embeddings,
        "hidden_size": hidden,
        "hidden_dropout": drop,
        "attention": "bahdanau",
        "init_hidden": "bridge",
        "input_feeding": shape["input_feeding"],
    }
    return {"initializer": "xavier_uniform", "encoder": encoder, "decoder": decoder}


def answer(facts: dict[str, Any]) -> None:
    """One line for the other process."""
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
