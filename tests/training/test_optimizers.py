"""Our ways of descent against torch's own, weight for weight."""

import subprocess
import sys

import pytest
import torch

from seqloom.training.optimizers import OPTIMIZERS
from seqloom.training.options import Training

RIVALS = {
    "adam": lambda w, t: torch.optim.Adam(w, t.learning_rate, weight_decay=t.l2, fused=True),
    "sgd": lambda w, t: torch.optim.SGD(
        w, t.learning_rate, momentum=t.momentum, weight_decay=t.l2, fused=True
    ),
    "adagrad": lambda w, t: torch.optim.Adagrad(w, t.learning_rate, weight_decay=t.l2, fused=True),
    "rmsprop": lambda w, t: torch.optim.RMSprop(
        w, t.learning_rate, momentum=t.momentum, weight_decay=t.l2
    ),
}


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("l2", [0.0, 0.1])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_it_goes_the_way_of_torchs_own(name, l2, momentum):
    settings = Training(optimizer=name, learning_rate=0.05, l2=l2, momentum=momentum)
    torch.manual_seed(1)
    start = [torch.randn(5, 3), torch.randn(4), torch.randn(2)]
    ours = [part.clone().requires_grad_() for part in start]
    theirs = [part.clone().requires_grad_() for part in start]
    own, rival = OPTIMIZERS[name](ours, settings), RIVALS[name](theirs, settings)
    for step in range(7):
        own.forget_gradients()
        rival.zero_grad()
        # The last weight has no gradient at first, which torch's fused sgd cannot deal with.
        used = 2 if step < 3 and name != "sgd" else 3
        for weights in (ours, theirs):
            sum((w**3).sum() + w.sum() for w in weights[:used]).backward()
        own.step(settings.learning_rate)
        rival.step()
        torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-7)
    assert not torch.allclose(ours[2], start[2])


def test_training_does_not_import_a_compiler(tmp_path):
    (tmp_path / "text.txt").write_text("hello\nthere\nyou\nall\n" * 20)
    code = (
        "import sys, seqloom\n"
        "seqloom.train('language', 'text.txt', model='recurrent',"
        " settings={'training.epochs': 1, 'data.allow_overlap': True})\n"
        "sys.exit('torch._dynamo' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
