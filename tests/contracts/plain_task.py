"""A task for any signature, with arrays as inputs, so that every model can be tested in one."""

from types import SimpleNamespace

import numpy as np

from seqloom.batch import Item
from seqloom.data.series.scaling import Scale
from seqloom.data.series.schema import TimeSeries
from seqloom.data.series.windows import ForecastWindow
from seqloom.signature import Form
from seqloom.task import Task

from .cases import batch_for


class Plain(Task):
    """A question is an item; symbols are called by their numbers."""

    verb, roles, primary_metric = "predict", ("text", "label"), "loss"
    history = 0

    def __init__(self, signature):
        self.form, self._signature = signature.form, signature

    def signature(self):
        return self._signature

    def example(self, row):
        raise NotImplementedError

    def question(self, text):
        raise NotImplementedError

    def asked(self, length=4, seed=1):
        """A random question; of series, one that is to go on."""
        batch = batch_for(self._signature, (length,), seed)
        source = batch.source.rows()[0] if batch.source.values.ndim == 2 else batch.source.values[0]
        if self.form is Form.FORECAST:
            width = self._signature.target.width
            past = np.array(source)[: -self._signature.target.horizon]
            times = tuple(str(number) for number in range(len(past)))
            return [TimeSeries("series", past[:, :width], past[:, width:], times)]
        return Item(np.array(source), np.array(batch.target.values[0]))

    def ahead(self, series, horizon=0):
        length, steps = len(series.values), horizon or self._signature.target.horizon
        more = [np.full((steps, series.values.shape[1]), np.nan), np.zeros((steps, 0))]
        more[1] = np.zeros((steps, series.known.shape[1]))
        rows = zip((series.values, series.known), more, strict=True)
        values, known = (np.concatenate(pair) for pair in rows)
        times = (*series.times, *(f"+{step + 1}" for step in range(steps)))
        return ForecastWindow(
            TimeSeries(series.name, values, known, times), 0, length, length + steps, length
        )

    def scale_of(self, example):
        width = self._signature.target.width
        return Scale(np.zeros(width), np.ones(width))

    def with_target(self, question, answer):
        return question if answer == "" else Item(question.source, np.array(answer))

    def encode(self, example):
        if self.form is Form.NEXT:
            return Item(example.source, example.source)
        return example

    def encode_source(self, example):
        if self.form is Form.FORECAST:
            return np.concatenate([example.series.values, example.series.known], axis=1)
        return example.source

    def key(self, example):
        return id(example)

    def length(self, example):
        return len(example.source)

    def prepare(self, examples):
        return

    def decode(self, row):
        return row

    def decode_for(self, example, row):
        if self.form is not Form.FORECAST:
            return row
        names = tuple(f"x{number}" for number in range(row.mean.shape[1]))
        return SimpleNamespace(names=names, mean=row.mean, quantiles=row.quantiles, paths=row.paths)

    def score(self, example, answer, nats):
        return {}

    def show(self, answer):
        return str(np.asarray(answer).tolist())

    def show_token(self, number):
        return f"n{number}"

    def show_question(self, example):
        return self.show(example.source)

    def is_known(self, example):
        return [True] * len(example.source)

    def show_tokens(self, example, answer):
        source = [f"s{place}" for place in range(len(example.source))]
        if self.form is Form.NEXT:
            return source, [f"n{number}" for number in np.asarray(example.source).tolist()]
        return source, [f"t{place}" for place in range(len(answer))]
