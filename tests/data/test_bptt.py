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


@pytest.mark.parametrize(("size", "length"), [(40, 5), (7, 3), (5, 5), (11, 10), (9, 1)])
def test_shuffled_segments_begin_at_every_offset_and_leave_out_less_than_one(size, length):
    """After an offset below one segment, as many segments as fit: in time each offset comes."""
    segments, offsets = BPTTLoader(items(size), 1, length, 2, in_order=False), set()
    for epoch in range(150):
        starts = sorted(int(start) for which in segments.epoch(epoch) for start in which.starts)
        offsets.add(starts[0])
        assert starts == list(range(starts[0], size - length + 1, length))
        assert all(which.length == length for which in segments.epoch(epoch))
    assert offsets == set(range(min(length, size - length + 1)))


@pytest.mark.parametrize("streams", [1, 2, 3, 7])
def test_shuffled_rows_fill_their_batches(streams):
    segments = BPTTLoader(items(60), streams, 4, 1, in_order=False)
    sizes = [len(which.starts) for which in segments.epoch(3)]
    assert set(sizes[:-1]) <= {streams} and 1 <= sizes[-1] <= streams


@pytest.mark.parametrize("length", [1, 2, 5, 10, 11, 12, 50])
@pytest.mark.parametrize("lengths", [(11,), (1,) * 11, (5, 5, 1), (0, 10, 0, 1), (3, 8)])
def test_one_stream_cuts_wherever_items_end(lengths, length):
    """All segments but the last have the length that was asked for, and each goes on exactly."""
    batches = list(one_stream(items(*lengths), length))
    found = [batch.target.values.tolist() for batch in batches]
    wanted = [list(range(4, 15))[start : start + length] for start in range(0, 11, length)]
    assert found == [[row] for row in wanted]
    before = [token for batch in batches for token in batch.source.values[0].tolist()]
    assert before == [BEGIN, *range(4, 14)]
    assert [batch.source.lengths.tolist() for batch in batches] == [[len(row)] for row in wanted]


def test_of_no_text_there_is_no_segment():
    assert list(one_stream([], 4)) == []


def test_a_digest_tells_other_segments():
    """What a checkpoint compares: the same text and options, or others."""
    made = {"batch_size": 2, "length": 4, "seed": 1, "in_order": True}
    same = BPTTLoader(items(9, 31), **made).digest()
    assert BPTTLoader(items(40), **made).digest() == same, "where lines end makes no difference"
    changes = {"batch_size": 3, "length": 5, "seed": 2, "in_order": False}
    others = [BPTTLoader(items(40), **made | {key: new}) for key, new in changes.items()]
    others.append(BPTTLoader(items(41), **made))
    assert len({same, *(other.digest() for other in others)}) == 6
