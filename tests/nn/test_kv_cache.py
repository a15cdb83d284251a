"""Key-value caches are values: whatever is done with one never shows in another."""

import random

import torch

from seqloom.nn.transformer.kv_cache import allocate, append_position


def more(rows, number, most=40):
    longer = append_position(rows, most)
    longer[:, -1] = number
    return longer


def test_a_tree_of_continuations_keeps_every_value():
    """Any state may be continued, again and again, sliced and selected: each keeps its history."""
    chance = random.Random(0)
    states = [(allocate(torch.empty(2, 0, 3, 4), 0, 8), [])]
    for number in range(300):
        rows, history = chance.choice(states[-12:])
        match chance.randrange(6):
            case 0:
                rows = rows[torch.tensor([1, 1])]
            case 1:
                rows = rows.clone()
        if len(history) < 40:
            states.append((more(rows, number), [*history, number]))
    assert max(len(history) for _, history in states) > 20
    for rows, history in states:
        expected = torch.tensor(history, dtype=torch.float)[None, :, None, None]
        assert torch.equal(rows, expected.expand(2, len(history), 3, 4))


def test_one_continuation_does_not_copy():
    rows, addresses = allocate(torch.empty(1, 0, 3), 0, 64), set()
    for number in range(60):
        rows = more(rows, number, most=64)
        addresses.add(rows.data_ptr())
    assert len(addresses) == 1


def test_a_row_of_a_batch_is_copied_before_it_grows():
    rows = more(more(allocate(torch.empty(3, 0, 2), 0, 8), 1), 2)
    kept = rows.clone()
    first, second = more(rows[:1], 7), more(rows, 9)
    assert torch.equal(rows, kept) and first[0, -1, 0] == 7 and (second[:, -1] == 9).all()
    again = more(rows[1:2], 8)
    assert again[0, -1, 0] == 8 and (second[:, -1] == 9).all()


def test_the_first_rows_continue_without_a_copy():
    """As when sequences leave a batch; what all rows hold still never changes."""
    rows = more(more(allocate(torch.empty(4, 0, 2), 0, 8), 1), 2)
    fewer = more(rows[:3], 3)
    assert fewer.data_ptr() == rows.data_ptr() and (fewer[:, -1] == 3).all()
    all_of_them, fewer_still = more(rows, 9), more(fewer[:1], 4)
    assert (all_of_them[:, -1] == 9).all() and (all_of_them[:, 0] == 1).all()
    assert (fewer[:, -1] == 3).all() and fewer_still[0, :, 0].tolist() == [1, 2, 3, 4]


def test_rows_reordered_in_place_keep_their_capacity():
    rows = more(more(allocate(torch.empty(3, 0, 2), 0, 8), 1), 2)
    rows[0] = 7
    rows[torch.tensor([0, 2])] = rows[torch.tensor([1, 0])]
    longer = more(rows, 3)
    assert longer.data_ptr() == rows.data_ptr()
    assert longer[:, :, 0].tolist() == [[1, 2, 3], [1, 2, 3], [7, 7, 3]]
