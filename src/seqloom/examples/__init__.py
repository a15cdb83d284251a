"""First trainings for those who have no file at hand: each model takes about a minute."""

from typing import Any

from . import real
from .example import Example, Material
from .synthetic import FLOW, HYMNS, SCENES, SPELT, TAGGED, TEMPLATES

__all__ = ["EXAMPLES", "Example", "Material"]

_CLOCK: dict[str, Any] = {  # the clock ends it, not the data
    "training.max_time": "40s",
    "training.epochs": 1000,
    "training.evaluate_seconds": 5.0,
    "training.evaluate_examples": 500,
}

EXAMPLES: dict[str, Example] = {
    example.name: example
    for example in (
        Example(
            name="pronounce",
            title="Pronounce words",
            sentence="From letters to sounds, and which letter it looks at for each of them.",
            task="translate",
            models={
                "encoder-decoder": {"model.hidden": 128, "model.width": 64, "model.dropout": 0.1},
                "transformer-encoder-decoder": {
                    "model.width": 96,
                    "model.feed_forward": 192,
                    "model.heads": 4,
                    "model.encoder_layers": 2,
                    "model.decoder_layers": 2,
                    "model.norm": "before",
                    "training.warmup": 100,
                },
            },
            settings={
                **_CLOCK,
                "data.valid_fraction": 0.02,
                "data.test_fraction": 0.03,
                "task.source_symbols": "characters",
                "task.judged_by": "errors",
                "training.learning_rate": 0.003,
                "training.average": 0.998,
            },
            file="words.tsv",
            materials=(real.DICTIONARY, SPELT),
        ),
        Example(
            name="shakespeare",
            title="Write like Shakespeare",
            sentence="One letter after another; a 5-gram only knows the last four of them.",
            task="language",
            models={
                "ngram": {"model.order": 5},
                "recurrent": {"model.hidden": 192, "model.width": 48},
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
                "hidden-markov": {},
                "recurrent": {
                    "model.directions": "both",
                    "model.letters": "convolution",
                    "model.hidden": 96,
                    "model.width": 64,
                    "model.dropout": 0.3,
                },
            },
            settings={
                **_CLOCK,
                "training.batch_size": 32,
                "training.learning_rate": 0.005,
                "training.average": 0.99,
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
                "bag": {},
                "recurrent": {
                    "model.hidden": 64,
                    "model.width": 64,
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
            sentence="The flow of the next months with bands, by last year, by a filter of hidden"
            " causes and by a network.",
            task="forecast",
            models={
                "seasonal-naive": {},
                "kalman": {},
                "recurrent": {
                    "model.cell": "gru",
                    "model.width": 16,
                    "model.hidden": 16,
                    "model.dropout": 0.1,
                    "training.learning_rate": 0.005,
                    "training.average": 0.99,
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
                "window": {"model.hidden": 128},
                "recurrent": {"model.cell": "gru", "model.hidden": 128, "model.dropout": 0.2},
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
                "window": {},
                "recurrent": {
                    "model.width": 16,
                    "model.hidden": 96,
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
                "training.clip": 0.1,
                "training.schedule": "linear",
            },
        ),
    )
}
