"""Small matrix products run in one BLAS thread, and afterwards the setting is restored."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
import torch
from threadpoolctl import ThreadpoolController

from seqloom.models import MODELS
from seqloom.nn.numpy_steps.threads import single_thread
from seqloom.nn.numpy_steps.transformer import gelu
from seqloom.signature import Form, Signature, Tokens


@pytest.fixture
def threads():
    """Number of BLAS threads of NumPy; two to begin with."""
    found = ThreadpoolController().select(user_api="blas")
    assert found.lib_controllers, "NumPy's BLAS is not known to threadpoolctl"
    with found.limit(limits=2):
        for library in found.lib_controllers:
            library.clear_controlling_thread()
        yield lambda: {library.get_num_threads() for library in found.lib_controllers}


def test_one_thread_inside_and_as_many_as_before_outside(threads):
    with single_thread():
        with single_thread():
            assert threads() == {1}
        assert threads() == {1}, "another is still inside"
    assert threads() == {2}
    with pytest.raises(ZeroDivisionError), single_thread():
        _ = 1 / 0
    assert threads() == {2}


def test_many_at_once(threads):
    together = Barrier(8, timeout=30)

    def enter(_):
        with single_thread():
            together.wait()
            seen = threads()
            together.wait()
        return seen

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(enter, range(8))) == [{1}] * 8
    assert threads() == {2}


@pytest.mark.parametrize("name", ["recurrent", "transformer"])
def test_a_step_runs_in_one_thread(threads, name, monkeypatch):
    kind, space = MODELS[name], Tokens(7)
    size = {"recurrent": "embedding_size", "transformer": "hidden_size"}[name]
    stepper = kind(Signature(Form.NEXT, space, space), **{size: 8}).stepper()
    seen, step = [], stepper._body.step

    def spied(*given):
        seen.append(threads())
        return step(*given)

    monkeypatch.setattr(stepper._body, "step", spied)
    stepper.step(1, stepper.begin())
    assert seen == [{1}] and threads() == {2}


def test_gelu_without_torch():
    x = np.linspace(-9, 9, 20001, dtype=np.float32)
    right = torch.nn.functional.gelu(torch.from_numpy(x).double()).numpy()
    found = gelu(x)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, right, atol=1e-6)
