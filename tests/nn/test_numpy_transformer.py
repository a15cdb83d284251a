"""Transformer steps in NumPy against those in torch; their states are values."""

import random

import numpy as np
import pytest
import torch

from seqloom.nn.numpy_steps import NumpyTransformer
from seqloom.nn.numpy_steps.kv_cache import CacheStore, reserve_position
from seqloom.nn.transformer.encoder import TransformerStack
from seqloom.nn.transformer.layers import TransformerOptions

KINDS = [
    {},
    {"positions": "rotary"},
    {"positions": "rotary", "norm": "after", "num_heads": 1},
    {"positions": "sinusoid", "norm": "after", "activation": "relu"},
    {"positions": "sinusoid", "attention_window": 1},
    {"attention_window": 3, "positions": "rotary", "num_heads": 4},
    {"attention_window": 2, "feed_forward": 10, "norm": "after"},
    {"activation": "relu", "num_heads": 8},
    {"biases": True},
    {"biases": True, "positions": "rotary", "norm": "after", "activation": "relu"},
]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda k: "-".join(map(str, k.values())))


def stack(context=8, precise=True, **kind):
    torch.manual_seed(3)
    options = TransformerOptions(**{"num_heads": 2} | kind)
    made = TransformerStack(
        16, num_layers=3, context=context, dropout=0.5, transformer_options=options
    )
    with torch.no_grad():
        for weight in made.parameters():
            weight.add_(torch.randn_like(weight) * 0.3)
    return (made.double() if precise else made).eval()


def stepped(fast, x, state=None):
    outputs, state = [], fast.begin() if state is None else state
    for row in x:
        output, state = fast.step(row, state)
        outputs.append(output)
    return np.stack(outputs), state


@every_kind
@pytest.mark.parametrize("precise, near", [(True, 1e-10), (False, 1e-5)])
@pytest.mark.parametrize("context", [4, 32])
def test_steps_are_the_whole(kind, precise, near, context):
    """Within a context, and far beyond it, where new blocks begin."""
    made = stack(context, precise, **kind)
    x = torch.randn(1, 21, 16, dtype=torch.double if precise else torch.float)
    with torch.no_grad():
        whole = made(x, torch.tensor([21]))[0].numpy()
    found, state = stepped(NumpyTransformer(made), x[0].numpy())
    np.testing.assert_allclose(found, whole, rtol=near, atol=near)
    assert found.dtype == whole.dtype and all(part.dtype == whole.dtype for part in state)


@every_kind
def test_it_continues_from_a_prompt(kind):
    """A prompt is read by torch at once; a row of its state is a state in NumPy."""
    made = stack(8, **kind)
    fast, x = NumpyTransformer(made), torch.randn(1, 27, 16, dtype=torch.double)
    with torch.no_grad():
        whole = made(x, torch.tensor([27]))[0].numpy()
        for read in (1, 7, 8, 9, 20):
            _, state = made.carry(x[:, :read], made.initial(1))
            found, _ = stepped(fast, x[0, read:].numpy(), tuple(part[0].numpy() for part in state))
            np.testing.assert_allclose(found, whole[read:], rtol=1e-10, atol=1e-10)


@every_kind
def test_a_state_can_be_kept_and_used_again(kind):
    made, x = stack(6, **kind), np.random.default_rng(0).normal(size=(14, 16))
    fast = NumpyTransformer(made)
    state = fast.begin()
    for row in x:
        kept = [part.copy() for part in state]
        once, new = fast.step(row, state)
        snapshot = [part.copy() for part in new]
        stepped(fast, -x[:5], state)
        saved = tuple(np.array(part) for part in state)  # as a file would hold it
        for origin in (state, saved):
            assert fast.step(row, origin)[0].tolist() == once.tolist()
        assert all(map(np.array_equal, kept, state)) and all(map(np.array_equal, snapshot, new))
        state = new


def test_it_keeps_the_weights_it_was_made_with():
    made, x = stack(4), np.random.default_rng(0).normal(size=(9, 16))
    fast = NumpyTransformer(made)
    before, _ = stepped(fast, x)
    with torch.no_grad():
        for weight in made.parameters():
            weight.zero_()
    assert stepped(fast, x)[0].tolist() == before.tolist()


def test_only_causal_transformers_are_supported():
    assert NumpyTransformer.supports(stack())
    assert not NumpyTransformer.supports(TransformerStack(8, num_layers=1, context=4, causal=False))


def more(rows, number):
    store = reserve_position(rows, 40)
    places = rows.shape[1] + 1
    store.values[:, :, places - 1] = number
    return store.rows(places)


WAYS = [  # how beam search, or anybody, may select rows
    lambda rows: rows,
    lambda rows: rows[np.array([1, 1])],
    lambda rows: np.array(rows),
    lambda rows: rows[np.array([True, True])],
    lambda rows: rows[::-1],
    lambda rows: rows[:2],
]


def test_a_tree_of_continuations_keeps_every_value():
    """Any state may be continued, again and again, selected and copied: each keeps its history."""
    chance = random.Random(0)
    states = [(np.empty((2, 0, 3, 4)), [])]
    for number in range(300):
        rows, history = chance.choice(states[-12:])
        rows = chance.choice(WAYS)(rows)
        if len(history) < 40:
            states.append((more(rows, number), [*history, number]))
    assert max(len(history) for _, history in states) > 20
    for rows, history in states:
        assert rows.shape == (2, len(history), 3, 4)
        assert (np.asarray(rows) == np.array(history).reshape(1, -1, 1, 1)).all()


def test_one_continuation_does_not_copy():
    rows = CacheStore(np.empty((1, 2, 64, 3))).rows(0)
    stores = set()
    for number in range(60):
        rows = more(rows, number)
        stores.add(id(rows.store))
    assert len(stores) == 1
    picked = rows[np.array([0, 0])]
    assert len(picked) == 2 and more(picked, 60).store is picked.store


def test_the_first_rows_continue_without_a_copy():
    """As when sequences leave a batch; a second continuation copies."""
    rows = more(more(np.zeros((4, 0, 3, 2)), 1), 2)
    fewer = more(rows[:3], 3)
    assert np.shares_memory(fewer, rows) and (fewer[:, -1] == 3).all() and len(fewer) == 3
    fewest = more(fewer[:1], 4)
    assert np.shares_memory(fewest, rows) and fewest[0, :, 0, 0].tolist() == [1, 2, 3, 4]
    again = more(rows, 9)
    assert not np.shares_memory(again, rows) and (fewer[:, -1] == 3).all()
    assert again[:, :, 0, 0].tolist() == [[1, 2, 9]] * 4


def test_other_slices_are_arrays_like_any_other():
    rows = more(more(np.zeros((4, 0, 3, 2)), 1), 2)
    for part in (rows[1:3], rows[::2], rows[:-1], rows[2], rows[:, :1]):
        assert getattr(part, "store", None) is None
    copied = more(rows[1:3], 7)
    assert not np.shares_memory(copied, rows) and (copied[:, -1] == 7).all()
