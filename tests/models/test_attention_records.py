"""`watch` records the attention of models, ensembles and mixtures; without it the fused kernel runs."""

import numpy as np
import pytest
import torch

from seqloom.batch import Batch, Sequences
from seqloom.config import constructor_arguments
from seqloom.decoding import Ensemble
from seqloom.model import Search
from seqloom.models import MODELS
from seqloom.nn.attention import ATTENTIONS, multi_head
from seqloom.signature import BEGIN
from seqloom.trace import watch
from tests.contracts.cases import SIGNATURES, batch_for, build, small

SIGNATURE = SIGNATURES["TRANSDUCE"]
LOOKING = [("encoder-decoder", {"attention": kind, "num_heads": 2}) for kind in ATTENTIONS]
LOOKING += [("transformer-encoder-decoder", {}), ("convolutional-encoder-decoder", {})]
WALKING = [{}, {"query": "previous"}, {"input_feeding": True}, {"scheduled_sampling": 0.5}]
names = lambda value: value if isinstance(value, str) else "-".join(map(str, value.values()))  # noqa: E731


def made(name, options, seed=0):
    return build(name, SIGNATURE, small(name, options), seed)


@pytest.mark.parametrize(("name", "options"), LOOKING, ids=names)
def test_every_attention_is_recorded(name, options):
    """While it learns, judges and writes; each place's weights sum to one."""
    model, batch = made(name, options), batch_for(SIGNATURE)
    with watch(model) as learning:
        model.loss(batch)
    with model.inference_mode(), watch(model) as judging:
        model.log_prob(batch)
    with model.inference_mode(), watch(model) as writing:
        model.predict(batch.source, Search(beam=2, limit=3))
    for trace in (learning, judging, writing):
        found = trace.of_kind("attention")
        assert found and all(record.path in trace.paths.values() for record in found)
        for record in found:
            np.testing.assert_allclose(record.value.sum(-1), 1, atol=1e-5)


@pytest.mark.parametrize(("name", "options"), LOOKING, ids=names)
def test_models_that_answer_together_are_seen_too(name, options):
    both = Ensemble([made(name, options), made(name, options, seed=1)])
    batch = batch_for(SIGNATURE)
    with both.inference_mode(), watch(both) as trace:
        both.log_prob(batch)
    paths = [record.path for record in trace.of_kind("attention")]
    assert {path.partition(".")[0] for path in paths} == {"0", "1"}
    assert set(paths) <= set(trace.paths.values())


def test_parts_of_a_mixture_are_seen_too():
    table = {"name": "encoder-decoder", **small("encoder-decoder", {})}
    mixture = MODELS["mixture"](SIGNATURE, first=table, second=table)
    with mixture.inference_mode(), watch(mixture) as trace:
        mixture.log_prob(batch_for(SIGNATURE))
    seen = {record.path.partition(".")[0] for record in trace.of_kind("attention")}
    assert seen == {"first", "second"}


@pytest.mark.parametrize("options", WALKING, ids=names)
def test_the_kernel_runs_where_nobody_wants_weights(options, monkeypatch):
    """In training and in search; with a coverage penalty, or for whoever watches, it cannot."""
    model = made("encoder-decoder", {"attention": "multi-head", "num_heads": 2, **options})
    batch, calls = batch_for(SIGNATURE), []
    kernel = torch.nn.functional.scaled_dot_product_attention
    monkeypatch.setattr(
        multi_head,
        "scaled_dot_product_attention",
        lambda *given, **more: calls.append(1) or kernel(*given, **more),
    )

    def ran(use):
        calls.clear()
        use()
        return len(calls)

    assert ran(lambda: model.loss(batch))
    with model.inference_mode():
        assert ran(lambda: model.predict(batch.source, Search(beam=2, limit=3)))
        looking = Search(beam=2, limit=3, coverage_penalty=0.3)
        assert not ran(lambda: model.predict(batch.source, looking))
        with watch(model):
            assert not ran(lambda: model.predict(batch.source, Search(limit=3)))


@pytest.mark.parametrize(
    "name",
    ["encoder-decoder", "transformer-encoder-decoder", "convolutional-encoder-decoder"],
)
@pytest.mark.parametrize("smoothing", [0.1, 0.4])
def test_smoothing_is_that_of_the_equation(name, smoothing):
    """(1 - ε) times the right symbol's surprise, and ε times the mean of all symbols'."""
    kind = MODELS[name]
    options = small(name, {"dropout": 0.0}) | {"label_smoothing": smoothing}
    kind.seed(0)
    model, batch = kind(SIGNATURE, **constructor_arguments(kind, options)), batch_for(SIGNATURE)
    total = 0.0
    with model.inference_mode():
        for source, target in zip(batch.source.rows(), batch.target.rows(), strict=True):
            state, before = model.begin(Sequences.pad([np.array(source)])), BEGIN
            for symbol in target:
                log_probs, state = model.step(np.array([before]), state)
                row, before = np.asarray(log_probs[0], dtype=np.float64), symbol
                total -= (1 - smoothing) * row[symbol] + smoothing * row.mean()
    model.train()
    found = model.loss(Batch(batch.source, batch.target)).item()
    assert found == pytest.approx(total / batch.target.lengths.sum(), rel=1e-5)
