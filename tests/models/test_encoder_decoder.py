"""Encoder-decoders against their equations, one sequence and one step at a time."""

import numpy as np
import pytest
import torch

from seqloom.batch import Batch, Sequences
from seqloom.config import constructor_arguments
from seqloom.decoding import Ensemble
from seqloom.errors import ModelError
from seqloom.inspection import inspect_model
from seqloom.model import Search
from seqloom.models import MODELS
from seqloom.nn.attention import ATTENTIONS, KeyValues
from seqloom.signature import BEGIN, END, UNKNOWN, Form, Signature, Tokens
from seqloom.tasks.translate import Pair, Translate
from seqloom.trace import watch
from tests.contracts.cases import SIGNATURES, batch_for

KIND = MODELS["encoder-decoder"]
PLAIN, COPYING = SIGNATURES["TRANSDUCE"], SIGNATURES["TRANSDUCE-unknowns"]
SMALL = {
    "embedding_size": 6,
    "hidden_size": 8,
    "num_heads": 2,
    "dropout": 0.0,
    "label_smoothing": 0.0,
}


def build(signature=PLAIN, seed=0, name="encoder-decoder", **options):
    torch.manual_seed(seed)
    kind = MODELS[name]
    return kind(signature, **constructor_arguments(kind, {**SMALL, **options}))


def by_the_book(model, source, target):
    """log p(target | source) of one pair, written as the docstring says it."""
    attention_options = model.attention_options
    memory, ends = model.encoder.encode(
        model.source_input(torch.from_numpy(source[None])), torch.tensor([len(source)])
    )
    v = {"ends": ends, "last": memory[:, -1], "mean": memory.mean(1)}.get(model.bridge_name)
    if v is None:
        first = model.bridge.first
        parts = [torch.zeros(1, 8) if first is None else first[n, None] for n in range(2)]
    else:
        parts = torch.tanh(model.bridge.give(v)).chunk(2, dim=-1)
    state, previous = model.decoder.begin(tuple(parts)), BEGIN
    fed, alpha, total = torch.zeros(1, model.outputs), torch.zeros(1, 1, len(source)), 0.0
    real = torch.ones(1, len(source), dtype=torch.bool)
    for symbol in target.tolist():
        read = [model.target_input(torch.tensor([previous]))]
        read += [v] if model.source_every_step else []
        context = v if model.source_every_step else None
        if attention_options.query == "previous":
            context, alpha = attend(model, state[0], memory, real, alpha)
            read.append(context)
        read += [fed] if attention_options.input_feeding else []
        h, state = model.decoder.step(torch.cat(read, dim=-1), state)
        if attention_options.query == "current" and model.attention is not None:
            context, alpha = attend(model, h, memory, real, alpha)
        a = h if context is None else torch.cat([context, h], dim=-1)
        fed = a = a if model.join is None else torch.tanh(model.join(a))
        chances = model.answers.output.scores(a)[0].softmax(-1)
        if attention_options.copy:
            g = torch.sigmoid(model.answers.pointer.gate(a))[0, 0]
            places = [s for s in range(len(source)) if source[s] == symbol]
            copied = sum((1 - 1e-6) * alpha[0, 0, s] + 1e-6 / len(source) for s in places)
            written = chances[symbol] if symbol < len(chances) else 0.0
            total = total + torch.log(g * written + (1 - g) * copied)
        else:
            total = total + torch.log(chances[symbol if symbol < len(chances) else UNKNOWN])
        previous = symbol
    return total


def attend(model, h, memory, real, before):
    seen = KeyValues(memory, model.attention.keys(memory), real)
    context, weights = model.attention(h[:, None], seen, before)
    return context[:, 0], weights.mean(1) if weights.dim() > 3 else weights


BOOK = [
    *({"attention": kind} for kind in ATTENTIONS),
    *({"attention": kind, "query": "previous"} for kind in ATTENTIONS),
    *({"attention": kind, "input_feeding": True} for kind in ("general", "location")),
    {"query": "previous", "input_feeding": True, "bridge": "mean"},
    {"query": "previous", "attentional": False, "bridge": "zero"},
    {"attentional": False, "bridge": "learned"},
    {"attention": "none", "bridge": "last"},
    {"attention": "none", "context": "every-step", "bridge": "mean"},
    {"attention": "none", "context": "every-step", "attentional": False},
    {"encoder": "convolution", "encoder_layers": 2, "bridge": "ends"},
    {"copy": True},
    {"copy": True, "query": "previous", "attention": "multi-head"},
]


@pytest.mark.parametrize("options", BOOK, ids=lambda o: "-".join(map(str, o.values())))
def test_the_equations(options):
    signature = COPYING if options.get("copy") else PLAIN
    for seed in range(2):
        model, batch = build(signature, seed, **options), batch_for(signature, (4, 2, 5), seed)
        with model.inference_mode():
            found = model.log_prob(batch)
            rows = zip(batch.source.rows(), batch.target.rows(), strict=True)
            wanted = [by_the_book(model, np.array(x), np.array(y)) for x, y in rows]
        torch.testing.assert_close(found, torch.stack(wanted), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("options", [{}, {"attention": "none"}])
def test_without_copying_unknown_symbols_are_unknown(options):
    """As sources, as what was written before and as targets."""
    model, batch = build(COPYING, **options), batch_for(COPYING, (5, 4))

    def as_unknown(sequences):
        return Sequences(
            np.where(sequences.values < 6, sequences.values, UNKNOWN), sequences.lengths
        )

    assert (batch.source.values >= 6).any() and (batch.target.values >= 6).any()
    told = Batch(as_unknown(batch.source), as_unknown(batch.target))
    with model.inference_mode():
        assert model.log_prob(batch).tolist() == model.log_prob(told).tolist()
        assert model.loss(batch).item() == model.loss(told).item()


@pytest.mark.parametrize("attention", [{"attention": "local", "attention_window": 1}, {}])
def test_an_unknown_name_where_no_attention_falls_has_a_finite_loss(attention):
    """Outside of a window, or where a weight underflows: it had the probability 0."""
    signature = Signature(Form.TRANSDUCE, Tokens(8, 3), Tokens(8, 3))
    model = build(signature, copy=True, **attention)
    with torch.no_grad():
        for weight in model.attention.parameters():
            weight.mul_(1e4)  # as peaked as can be
    source = np.array([8, 5, 9, 6, 5, 7, 10])
    batch = Batch(
        Sequences.pad([source, source[:3]]),
        Sequences.pad([np.array([8, 9, 10, END]), np.array([8, 9, END])]),
    )
    loss = model.loss(batch)
    gradients = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)
    assert loss.isfinite() and all(g.isfinite().all() for g in gradients if g is not None)
    with model.inference_mode():
        log_probs, _ = model.step(np.array([BEGIN, BEGIN]), model.begin(batch.source))
    np.testing.assert_allclose(np.exp(log_probs).sum(-1), 1, atol=1e-5)
    assert np.isfinite(log_probs[0]).all()
    assert np.isneginf(log_probs[1, -1])  # the third unknown name is not in the second source


def test_unknown_names_pass_through():
    """What was never in the vocabulary is copied, also where training had another number."""
    signature = Signature(Form.TRANSDUCE, Tokens(8, 3), Tokens(8, 3))
    chance = np.random.default_rng(0)

    def pairs(count):
        """The answer is what stands after the sign 4: known or not."""
        sources = chance.integers(5, 11, (count, 5))
        place = chance.integers(0, 4, count)
        sources[np.arange(count), place] = 4
        answers = sources[np.arange(count), place + 1]
        return Batch(
            Sequences.pad(list(sources)), Sequences.pad([np.array([a, END]) for a in answers])
        )

    model = build(signature, embedding_size=16, hidden_size=32, copy=True, attention_width=16)
    descent = torch.optim.Adam(model.parameters(), 0.01)
    for _ in range(120):
        descent.zero_grad()
        model.loss(pairs(48)).backward()
        descent.step()
    batch = pairs(100)
    with model.inference_mode():
        found = model.predict(batch.source, Search(beam=2, limit=4)).target
    right = [one == other for one, other in zip(found.rows(), batch.target.rows(), strict=True)]
    assert np.mean(right) > 0.9
    assert np.mean(np.array(right)[batch.target.values[:, 0] >= 8]) > 0.9


def test_own_guesses_are_read():
    """With a share of one the loss is that of the guesses being read, found by single steps."""
    model, batch = build(scheduled_sampling=1.0), batch_for(PLAIN, (4, 4, 4))
    model.train()
    loss = model.loss(batch).item()
    with model.inference_mode():
        state, symbols, total = model.begin(batch.source), np.full(3, BEGIN), 0.0
        for t in range(4):
            log_probs, state = model.step(symbols, state)
            total -= log_probs[np.arange(3), batch.target.values[:, t]].sum()
            symbols = log_probs.argmax(1)
        assert model.loss(batch).item() == pytest.approx(
            -model.log_prob(batch).sum().item() / 12, rel=1e-5
        ), "at rest the right symbols are read"
    assert loss == pytest.approx(total / 12, rel=1e-5)


def test_the_share_of_guesses_grows_and_is_part_of_the_weights():
    model, batch = build(scheduled_sampling=0.8, sampling_ramp=4), batch_for(PLAIN)
    model.train()
    shares = []
    for _ in range(6):
        shares.append(model.guessing.rate())
        model.loss(batch)
    assert shares == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 0.8])
    with model.inference_mode():
        model.loss(batch)
    other = build(scheduled_sampling=0.8, sampling_ramp=4)
    other.restore({name: np.array(array) for name, array in model.weights().items()})
    assert other.guessing.batches.tolist() == [6]
    drawn = model.guessing.sample(4000, 5)
    assert not drawn[:, 0].any() and drawn[:, 1:].float().mean().item() == pytest.approx(
        0.8, abs=0.02
    )


def test_coverage_costs_in_training_alone():
    model, plain = build(coverage=2.0), build()
    batch = batch_for(PLAIN, (4, 3))
    with watch(model) as trace:
        loss = model.loss(batch).item()
    costs = loss - plain.loss(batch).item()
    (alpha,) = (seen.value for seen in trace.of_kind("attention"))
    again = sum(
        np.minimum(alpha[b, t], alpha[b, :t].sum(0)).sum()
        for b, length in enumerate(batch.target.lengths)
        for t in range(length)
    )
    assert costs == pytest.approx(2 * again / batch.target.lengths.sum(), rel=1e-4)
    with model.inference_mode():
        assert model.loss(batch).item() == pytest.approx(plain.loss(batch).item())


@pytest.mark.parametrize(
    "name, options",
    [
        ("encoder-decoder", {}),
        ("encoder-decoder", {"attention": "multi-head", "query": "previous"}),
        ("encoder-decoder", {"attention": "location"}),
        ("convolutional-encoder-decoder", {}),
    ],
)
def test_where_a_step_looks_is_where_the_whole_looks(name, options):
    options = options if name == "encoder-decoder" else {"decoder_layers": 2, "positions": 3}
    torch.manual_seed(0)
    kind = MODELS[name]
    widths = {"embedding_size": 6, "hidden_size": 8} | (
        {"num_heads": 2} if name == "encoder-decoder" else {}
    )
    model, batch = (
        kind(PLAIN, **constructor_arguments(kind, widths | options)),
        batch_for(PLAIN, (3, 3)),
    )
    with model.inference_mode():
        with watch(model) as trace:
            model.log_prob(batch)
        seen = [
            r.value.mean(1) if r.value.ndim > 3 else r.value for r in trace.of_kind("attention")
        ]
        assert len(seen) == options.get("decoder_layers", 1), "one record for each layer"
        whole, state = np.mean(seen, axis=0), model.begin(batch.source)
        for t, read in enumerate(batch.target.shift_right(BEGIN).values.T):
            _, state, looked = model.step_with_attention(read, state)
            np.testing.assert_allclose(looked, whole[:, t], rtol=1e-4, atol=1e-6)


def test_a_decoder_without_attention_looks_nowhere():
    model = build(attention="none")
    with model.inference_mode(), pytest.raises(ModelError) as told:
        model.step_with_attention(np.full(2, BEGIN), model.begin(batch_for(PLAIN).source))
    assert told.value.code == "M190"


@pytest.mark.parametrize(
    "options, code, sentence",
    [
        ({"copy": True}, "M202", "one vocabulary for source and target"),
        ({"encoder_layers": 0}, "M203", "encoder_layers = 0"),
        ({"decoder_layers": 0}, "M203", "decoder_layers = 0"),
        ({"context": "every-step"}, "M203", "for a decoder without attention"),
        ({"attention": "none", "bridge": "zero"}, "M203", "nothing of its source"),
        ({"attention": "none", "bridge": "learned"}, "M203", "nothing of its source"),
        ({"encoder": "convolution", "kernel": 1}, "M162", "2 positions or more"),
        ({"scheduled_sampling": 1.5}, "M204", "must be in [0, 1] (got 1.5)"),
        ({"sampling_ramp": 10}, "M204", "has no effect"),
        (
            {"attention": "multi-head", "num_heads": 3},
            "M200",
            "num_heads = 3 does not divide hidden_size = 8",
        ),
    ],
)
def test_what_cannot_be_is_refused(options, code, sentence):
    with pytest.raises(ModelError) as told:
        build(**options)
    assert told.value.code == code and sentence in told.value.problem and told.value.help


def test_to_copy_says_which_options_of_the_task_it_needs():
    with pytest.raises(ModelError) as told:
        build(copy=True)
    assert told.value.help[0] == "--set task.joint_vocab=true --set task.copies=10"
    other = Signature(Form.TRANSDUCE, Tokens(6, 2), Tokens(7, 2))
    with pytest.raises(ModelError, match="one vocabulary"):
        build(other, copy=True)


@pytest.mark.parametrize(
    "name, options, note",
    [
        ("encoder-decoder", {"query": "previous"}, ""),
        ("encoder-decoder", {"attention": "location", "input_feeding": True}, ""),
        (
            "encoder-decoder",
            {"attention": "multi-head", "num_heads": 2},
            "attention, the mean of its 2",
        ),
        ("convolutional-encoder-decoder", {}, "decoder.layers.2.attention"),
    ],
)
def test_a_picture_of_where_it_looks(name, options, note):
    """Rows are what is written and columns what is read, also where both are as long."""
    symbols = {"source_tokens": "characters", "target_tokens": "characters"}
    task = Translate(**constructor_arguments(Translate, symbols))
    task.prepare([Pair("abc", "xyz")])
    kind = MODELS[name]
    model = kind(
        task.signature(),
        **constructor_arguments(kind, {"embedding_size": 6, "hidden_size": 8} | options),
    )
    view = inspect_model(model, task, task.question("abc"), "xyz", "mine")
    assert (view.source, view.target) == ([*"abc", "</s>"], [*"xyz", "</s>"])
    np.testing.assert_allclose(view.weights.sum(1), 1, atol=1e-5)
    assert note in " ".join(view.notes) and bool(note) == bool(view.notes)


def test_mixtures_of_models_that_copy():
    """Two that copy mix, unknown symbols and all; one that copies and one that does not cannot."""
    kind, table = MODELS["mixture"], {"name": "encoder-decoder", **SMALL}
    copies = {**table, "copy": True}
    mixture = kind(COPYING, weight=0.3, first=copies, second=copies)
    batch = batch_for(COPYING, (5, 4))
    with mixture.inference_mode():
        found = mixture.log_prob(batch)
        one, other = (part.log_prob(batch).numpy() for part in (mixture.first, mixture.second))
    assert np.isfinite(found).all() and not np.allclose(one, other)
    neither = kind(COPYING, weight=0.3, first=table, second=table)
    with neither.inference_mode():
        assert np.isfinite(neither.log_prob(batch)).all()
    with pytest.raises(ModelError) as told:
        kind(COPYING, weight=0.3, first=copies, second=table)
    assert told.value.code == "M207"


def test_ensembles_of_models_that_copy():
    """As mixtures: all copy or none does; what none can write is unknown to all."""
    batch = batch_for(COPYING, (5, 4))
    copiers, others = (
        [build(COPYING, seed, copy=copy) for seed in (1, 2)] for copy in (True, False)
    )
    for models in (copiers, others):
        both = Ensemble(models)
        with both.inference_mode():
            found = both.log_prob(batch)
            predicted = both.predict(batch.source, Search(beam=2, limit=5))
        assert np.isfinite(found).all() and len(predicted.ranked) == len(batch)
    with pytest.raises(ModelError) as told:
        Ensemble([copiers[0], others[0]])
    assert told.value.code == "M207"
