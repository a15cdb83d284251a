"""Truncated BPTT: segments of a continuous text, in order or shuffled."""

import numpy as np
import pytest

from seqloom.batch import Item
from seqloom.data.loading.bptt import BPTTLoader, one_stream
from seqloom.errors import DataError
from seqloom.signature import BEGIN


def items(*lengths):
    """Lines of a text whose tokens are their own positions, from 4 on."""
    ends = np.cumsum(lengths)
    return [Item(t, t) for t in np.split(np.arange(4, 4 + ends[-1]), ends[:-1])]


def read(segments, epoch=0):
    return [segments.batch(which) for which in segments.epoch(epoch)]


def test_in_order_each_stream_goes_on_where_it_was():
    batches = read(BPTTLoader(items(9, 1, 13), 2, 4, 1, in_order=True))
    streams = np.concatenate([batch.target.values for batch in batches], axis=1)
    np.testing.assert_array_equal(streams, [np.arange(4, 15), np.arange(15, 26)])
    before = np.concatenate([batch.source.values for batch in batches], axis=1)
    np.testing.assert_array_equal(before, [[BEGIN, *range(4, 14)], range(14, 25)])
    assert [batch.target.values.shape[1] for batch in batches] == [4, 4, 3]


def test_shuffled_segments_do_not_overlap_and_move_with_the_epoch():
    segments = BPTTLoader(items(40), 3, 5, 1, in_order=False)
    starts = []
    for epoch in range(4):
        batches = read(segments, epoch)
        rows = np.concatenate([batch.target.values for batch in batches])
        assert (np.diff(rows, axis=1) == 1).all()
        assert len(set(rows.ravel())) == rows.size >= 35
        for batch in batches:
            late = np.where(batch.target.values == 4, BEGIN, batch.target.values - 1)
            np.testing.assert_array_equal(batch.source.values, late)
        starts.append(rows[:, 0].tolist())
    assert len({min(found) for found in starts}) > 1
    assert all(found != sorted(found) for found in starts)
    again = BPTTLoader(items(40), 3, 5, 1, in_order=False)
    assert [w.starts.tolist() for w in again.epoch(2)] == [
        w.starts.tolist() for w in segments.epoch(2)
    ]


def test_one_stream_reads_all_of_it():
    batches = list(one_stream(items(3, 4, 4), 4))
    found = np.concatenate([batch.target.values[0] for batch in batches])
    np.testing.assert_array_equal(found, np.arange(4, 15))
    assert batches[0].source.values[0, 0] == BEGIN
    assert batches[1].source.values[0, 0] == batches[0].target.values[0, -1]


def test_a_text_shorter_than_a_segment_is_refused_with_what_would_fit():
    with pytest.raises(DataError) as caught:
        BPTTLoader(items(50), 8, 10, 1, in_order=True)
    assert caught.value.code == "D044"
    assert "50 tokens; 8 parallel streams need 80" in caught.value.problem
    assert caught.value.help[0].startswith("--set training.batch_size=5")
    BPTTLoader(items(50), 5, 10, 1, in_order=True)
    with pytest.raises(DataError, match="has 5 tokens; a stream needs 10"):
        BPTTLoader(items(5), 1, 10, 1, in_order=True)
