"""The evaluator in NumPy against the network in torch, and what a look promises for pictures of any size."""

import json

import numpy as np
import pytest

from llise.network.evaluator import BLOCK, CELL, TILE, _said, look
from llise.network.model import Model, load

torch = pytest.importorskip("torch", reason="the training needs torch; the evaluator is compared with it")

from training.export import export, folded  # noqa: E402
from training.labels import IGNORED, KINDS, MEMBER, SETS, set_of  # noqa: E402
from training.net import Net, Shape, cost  # noqa: E402

SMALL = Shape(len(KINDS), len(SETS), widths=(8, 16, 16, 24), hidden=24)


def random_net(shape: Shape = SMALL, seed: int = 0) -> Net:
    """A network with random weights and running statistics, so that a mistake in folding shows."""
    torch.manual_seed(seed)
    net = Net(shape)
    for module in net.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            torch.nn.init.normal_(module.running_mean, 0, 0.1), torch.nn.init.uniform_(module.running_var, 0.5, 2)
            torch.nn.init.uniform_(module.weight, 0.5, 1.5), torch.nn.init.normal_(module.bias, 0, 0.1)
    return net.eval()


def model_of(net: Net) -> Model:
    return Model("random", "0", KINDS, SETS, folded(net), {})


def pair(height: int, width: int, seed: int = 0, grey: bool = False) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    reference = rng.integers(0, 256, (height, width, 1 if grey else 3)).repeat(3 if grey else 1, -1)
    copy = np.clip(reference + np.rint(rng.normal(0, 4, reference.shape[:2])[..., None]), 0, 255)
    return reference.astype(np.uint8), copy.astype(np.uint8)


def by_torch(net: Net, reference: np.ndarray, copy: np.ndarray) -> tuple[np.ndarray, ...]:
    """What the network says in torch; sides are filled up by repeating the border."""
    h, w = reference.shape[:2]
    filled = [np.pad(x, [(0, -h % CELL), (0, -w % CELL), (0, 0)], mode="edge") for x in (reference, copy)]
    rows, cols = -(-h // BLOCK), -(-w // BLOCK)
    valid = torch.zeros(1, 1, *(n // BLOCK for n in filled[0].shape[:2]))
    valid[..., :rows, :cols] = 1
    with torch.no_grad():
        said = net(*(torch.from_numpy(x).permute(2, 0, 1)[None] for x in filled), valid)
    return tuple(t[0, :, :rows, :cols].permute(1, 2, 0).numpy() for t in (said[0], said[1].log_softmax(1), said[3]))


@pytest.mark.parametrize("size", [(8, 8), (9, 40), (64, 64), (77, 131), (160, 33)])
@pytest.mark.parametrize("grey", [False, True])
def test_evaluator_equals_torch(size, grey):
    net = random_net()
    reference, copy = pair(*size, grey=grey)
    said = look(reference[..., 0] if grey else reference, copy[..., 0] if grey else copy, model_of(net))
    for ours, theirs in zip(said, by_torch(net, reference, copy)):
        np.testing.assert_allclose(ours, theirs, atol=1e-4)


def test_a_trained_shape_equals_torch_and_keeps_the_budget():
    shape = Shape(len(KINDS), len(SETS))
    net = random_net(shape, 1)
    reference, copy = pair(50, 90, 3)
    np.testing.assert_allclose(look(reference, copy, model_of(net)).kinds, by_torch(net, reference, copy)[0], atol=1e-4)
    assert cost(shape) <= 25
    assert 2 * sum(array.size for array in folded(net).values()) <= 10e6


def test_equal_pictures_are_not_looked_at(monkeypatch):
    reference, _ = pair(40, 40)
    monkeypatch.setattr("llise.network.evaluator._said", lambda *args: pytest.fail("looked at an equal tile"))
    said = look(reference, reference, model_of(random_net()))
    assert not said.changed.any() and not said.kinds.any()


def test_only_tiles_that_differ_are_looked_at(monkeypatch):
    reference, _ = pair(100, 3 * TILE)
    copy = reference.copy()
    copy[50, 20] ^= 1
    seen = []
    monkeypatch.setattr("llise.network.evaluator._said", lambda r, c, w: seen.append(r.shape) or _said(r, c, w))
    said = look(reference, copy, model_of(random_net()))
    assert len(seen) == 1 and said.changed.sum() == 1 and said.kinds.shape == (13, 3 * TILE // BLOCK, len(KINDS))


def test_changed_blocks_at_odd_borders():
    reference, _ = pair(17, 19)
    copy = reference.copy()
    copy[16, 18] ^= 1
    changed = look(reference, copy, model_of(random_net())).changed
    assert changed.shape == (3, 3) and changed[2, 2] and changed.sum() == 1


def test_files_give_the_model_back(tmp_path):
    net = random_net()
    export(net, tmp_path, "trial", {"price": 2.5})
    model = load(tmp_path / "model.safetensors", tmp_path / "model.json")
    assert (model.name, model.kinds, model.sets, model.tuned) == ("trial", KINDS, SETS, {"price": 2.5})
    for name, array in folded(net).items():
        np.testing.assert_allclose(model.weights[name], array, rtol=1e-3, atol=1e-6)
    again = json.loads((tmp_path / "model.json").read_text())
    (tmp_path / "model.json").write_text(json.dumps(again | {"name": "other"}))
    assert load(tmp_path / "model.safetensors", tmp_path / "model.json").digest != model.digest


def test_labels_of_bits():
    blur, jpeg, noise = (1 << KINDS.index(k) for k in ("blur", "jpeg", "gaussian_noise"))
    told = set_of(np.array([[0, blur, blur | jpeg], [blur | jpeg | noise, 1 << IGNORED, 1 << KINDS.index("unknown")]]))
    assert [SETS[k] for k in told[0]] == [(), ("blur",), ("blur", "jpeg")]
    assert told[1].tolist() == [-1, -1, SETS.index(("unknown",))]
    assert MEMBER[told[0, 2]].sum() == 2
