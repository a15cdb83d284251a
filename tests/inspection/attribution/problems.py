"""Attribution problems for small random models."""

import numpy as np

from seqloom.inspection.attribution.target import AttributionProblem, OutputPart
from seqloom.signature import BEGIN, Form

from ...contracts.cases import batch_for


def problem(model, form, length=6):
    """A random sequence and its answer, all of it to be attributed."""
    signature = model.signature
    batch = batch_for(signature, (length, length - 1), seed=3)
    read, answer = np.array(batch.source.rows()[0]), np.array(batch.target.rows()[0])
    if form is Form.NEXT:
        read, answer = np.concatenate([[BEGIN], read[:-1]]), read
    labels = answer if answer.ndim == 1 else answer.argmax(-1)
    rows = tuple(OutputPart(t, int(y), str(y)) for t, y in enumerate(labels))
    symbols = tuple(map(str, range(len(read))))
    return AttributionProblem(model, read, symbols, labels, rows)
