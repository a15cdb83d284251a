"""Examples: small datasets with two or three models each, about a minute of training per model."""

from typing import Any

from . import real
from .example import Example, ExampleData
from .synthetic import FLOW, HYMNS, SCENES, SPELT, TAGGED, TEMPLATES

__all__ = ["EXAMPLES", "Example", "ExampleData"]

_CLOCK: dict[str, Any] = {  # training ends by time, not by epochs
    "training.max_time": "40s",
    "training.epochs": 1000,
    "training.evaluate_seconds": 5.0,
    "training.evaluate_examples": 500,
    "training.patience": 0,
    "data.valid_fraction": 0.05,
    "data.test_fraction": 0.05,
}

EXAMPLES: dict[str, Example] = {
    example.name: example
    for example in (
        Example(
            name="pronounce",
            title="Pronounce words",
            sentence="From letters to sounds, and which letters it attends to for each of them.",
            task="translate",
            models={
                "encoder-decoder": {
                    "model.hidden_size": 128,
                    "model.embedding_size": 64,
                    "model.dropout": 0.1,
                },
                "transformer-encoder-decoder": {
                    "model.hidden_size": 96,
                    "model.feed_forward": 192,
                    "model.num_heads": 4,
                    "model.encoder_layers": 2,
                    "model.decoder_layers": 2,
                    "model.norm": "before",
                    "training.warmup_steps": 100,
                },
            },
            settings={
                **_CLOCK,
                "data.valid_fraction": 0.02,
                "data.test_fraction": 0.03,
                "task.source_tokens": "characters",
                "task.metrics": "errors",
                "training.learning_rate": 0.003,
                "training.ema_decay": 0.998,
            },
            file="words.tsv",
            materials=(real.DICTIONARY, SPELT),
        ),
        Example(
            name="shakespeare",
            title="Write like Shakespeare",
            sentence="One character after another; a 5-gram sees only the last four of them.",
            task="language",
            models={
                "ngram": {"model.order": 5},
                "recurrent": {"model.hidden_size": 192, "model.embedding_size": 48},
            },
            settings={
                **_CLOCK,
                "task.layout": "stream",
                "training.batch_size": 32,
                "training.learning_rate": 0.005,
            },
            file="plays.txt",
            materials=(real.PLAYS, SCENES),
        ),
        Example(
            name="parts-of-speech",
            title="Name parts of speech",
            sentence="Noun or verb? Neighbours tell, and an LSTM sees both sides of a word.",
            task="tag",
            models={
                "hmm-tagger": {},
                "recurrent": {
                    "model.bidirectional": True,
                    "model.letters": "convolution",
                    "model.hidden_size": 96,
                    "model.embedding_size": 64,
                    "model.dropout": 0.3,
                },
            },
            settings={
                **_CLOCK,
                "training.batch_size": 32,
                "training.learning_rate": 0.005,
                "training.ema_decay": 0.99,
            },
            file="sentences.conll",
            materials=(real.TREEBANK, TAGGED),
        ),
        Example(
            name="spam",
            title="Find spam",
            sentence="Is the order of words worth anything, or is a bag of them enough?",
            task="classify",
            models={
                "bag-of-words": {},
                "recurrent": {
                    "model.hidden_size": 64,
                    "model.embedding_size": 64,
                    "model.pooling": "max",
                    "model.dropout": 0.3,
                },
            },
            settings={**_CLOCK, "training.patience": 5, "training.batch_size": 32},
            file="messages.csv",
            materials=(real.MESSAGES, TEMPLATES),
        ),
        Example(
            name="river",
            title="Forecast a river",
            sentence="The flow of the next months with prediction intervals, by a seasonal"
            " naive forecast, a Kalman filter and a recurrent network.",
            task="forecast",
            models={
                "seasonal-naive": {},
                "kalman": {},
                "recurrent": {
                    "model.cell": "gru",
                    "model.embedding_size": 16,
                    "model.hidden_size": 16,
                    "model.dropout": 0.1,
                    "training.learning_rate": 0.005,
                    "training.ema_decay": 0.99,
                },
            },
            settings={
                **_CLOCK,
                "training.max_time": "30s",
                "training.evaluate_examples": 150,
                "data.test_fraction": 0.2,
                "task.transform": "log",
                "task.horizon": 12,
                "task.stride": 1,
            },
            file="flow.csv",
            materials=(FLOW,),
        ),
        Example(
            name="chorales",
            title="Compose in four parts",
            sentence="Which keys sound next? Then let it go on by itself.",
            task="music",
            models={
                "feedforward": {"model.hidden_size": 128},
                "recurrent": {"model.cell": "gru", "model.hidden_size": 128, "model.dropout": 0.2},
            },
            settings={
                **_CLOCK,
                "task.steps_per_quarter": 1,
                "training.batch_size": 8,
                "training.learning_rate": 0.005,
                "training.patience": 6,
            },
            file="chorales.json",
            materials=(real.CHORALES, HYMNS),
        ),
        Example(
            name="copy",
            title="Copy with memory",
            sentence="Ten letters again after a pause: a window forgets them, an LSTM need not.",
            task="algorithms",
            models={
                "feedforward": {},
                "recurrent": {
                    "model.embedding_size": 16,
                    "model.hidden_size": 96,
                    "model.start": "orthogonal",
                    "model.span": 30,
                },
            },
            settings={
                **_CLOCK,
                "task.problem": "copy",
                "task.length": 10,
                "task.examples": 20_000,
                "task.valid_examples": 300,
                "task.test_examples": 500,
                "training.batch_size": 20,
                "training.learning_rate": 0.01,
                "training.max_grad_norm": 0.1,
                "training.schedule": "linear",
            },
        ),
    )
}
