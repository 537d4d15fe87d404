"""The training of the network, from scenes that are still being drawn."""

from __future__ import annotations

import copy
import json
import math
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from training.labels import IGNORED, KINDS, MEMBER, SETS, set_of
from training.net import BLOCK, Net, Shape

LEAST_SEEN = 4
"""Blocks from which the mean of a region counts in the loss."""

SMALL = 0.55
"""Share of the time in which quarters of scenes are shown: four times as many different ones in the same time."""

TOLD = 60.0
"""Seconds between two lines of progress, each with a checkpoint."""

PATIENCE = 20.0
"""Seconds for which the first scenes are waited for when nothing draws any more."""

GUARD = 1.6
"""Rise of the smoothed loss, against its best, after which the weights of before are taken back at half the rate."""


class Ring:
    """The newest scenes, as bytes on the device; shards are taken from a folder as they appear there."""

    def __init__(self, folder: Path, capacity: int, side: int, device: str, *, keep: bool, hold: int) -> None:
        new = lambda *shape, dtype: torch.empty((capacity, *shape), dtype=dtype, device=device)
        self.reference, self.copy = (new(3, side, side, dtype=torch.uint8) for _ in range(2))
        self.bits = new(side // BLOCK, side // BLOCK, dtype=torch.int64)
        self.held: tuple[torch.Tensor, ...] | None = None
        self.folder, self.capacity, self.hold, self.keep = folder, capacity, hold, keep
        self.total = 0
        self._shards: queue.Queue = queue.Queue(maxsize=8)
        threading.Thread(target=self._read, daemon=True).start()

    @property
    def filled(self) -> int:
        return min(self.total, self.capacity)

    def _read(self) -> None:
        seen: set[tuple[str, float]] = set()
        while True:
            for path in sorted(self.folder.glob("*.npz")):
                if ".tmp" in path.name or (mark := (path.name, path.stat().st_mtime)) in seen:
                    continue
                seen.add(mark)
                with np.load(path) as z:
                    item = tuple(z[k] for k in ("ref", "cop", "lab"))
                if not self.keep:
                    path.unlink()
                self._shards.put(item)
            time.sleep(0.5)

    def take(self) -> None:
        """Put the shards that have been read into the ring; the first scenes are held out to show progress."""
        while not self._shards.empty():
            ref, cop, lab = self._shards.get()
            device = self.reference.device
            r, c = (torch.from_numpy(x).to(device).permute(0, 3, 1, 2) for x in (ref, cop))
            b = torch.from_numpy(lab.astype(np.int64)).to(device)
            room = self.hold - (0 if self.held is None else len(self.held[0]))
            if room > 0:
                some = tuple(x[: min(room, len(x) // 2)] for x in (r, c, b))
                self.held = some if self.held is None else tuple(torch.cat(x) for x in zip(self.held, some))
                r, c, b = (x[len(some[0]) :] for x in (r, c, b))
            at = (torch.arange(len(r), device=device) + self.total) % self.capacity
            self.reference[at], self.copy[at], self.bits[at] = r, c, b
            self.total += len(r)

    def batch(self, size: int, side: int) -> tuple[torch.Tensor, ...]:
        """Random scenes or parts of them, mirrored and turned at random; as many pixels as `size` whole scenes have."""
        whole = self.reference.shape[-1]
        i = torch.randint(self.filled, (size * whole * whole // (side * side),), device=self.reference.device)
        y, x = (int(torch.randint((whole - side) // BLOCK + 1, ())) for _ in range(2))
        rows, cols = slice(y, y + side // BLOCK), slice(x, x + side // BLOCK)
        pixels = (i, slice(None), slice(BLOCK * y, BLOCK * y + side), slice(BLOCK * x, BLOCK * x + side))
        r, c, b = self.reference[pixels], self.copy[pixels], self.bits[i, rows, cols]
        k = int(torch.randint(8, (1,)))
        if k & 1:
            r, c, b = r.flip(2), c.flip(2), b.flip(1)
        if k & 2:
            r, c, b = r.flip(3), c.flip(3), b.flip(2)
        if k & 4:
            r, c, b = r.transpose(2, 3), c.transpose(2, 3), b.transpose(1, 2)
        return r, c, b


class Losses:
    """What is minimised: kinds and sets of blocks, and sets of regions by the mean of their blocks."""

    def __init__(self, device: str) -> None:
        self.member = torch.from_numpy(MEMBER).to(device)
        self.powers = torch.arange(len(KINDS), device=device)
        codes = torch.from_numpy(_lookup()).to(device)
        self.lookup = codes

    def targets(self, r: torch.Tensor, c: torch.Tensor, bits: torch.Tensor) -> tuple[torch.Tensor, ...]:
        valid = (bits >> IGNORED) & 1 == 0
        changed = F.max_pool2d((r != c).any(1, keepdim=True).float(), BLOCK)[:, 0] > 0
        bits = bits & ((1 << len(KINDS)) - 1)
        has = ((bits[..., None] >> self.powers) & 1).float()
        return valid, changed, has, self.lookup[bits]

    def __call__(self, kinds: torch.Tensor, sets: torch.Tensor, targets: tuple[torch.Tensor, ...]):
        valid, changed, has, number = targets
        weight = valid.float() * torch.where(changed, 1.0, 0.02)
        weight = weight / weight.sum((1, 2), keepdim=True).clamp(min=1).sqrt()
        weight = weight / weight.sum().clamp(min=1e-6)
        kinds, sets = kinds.float().permute(0, 2, 3, 1), sets.float().permute(0, 2, 3, 1)
        binary = F.binary_cross_entropy_with_logits(kinds, has, reduction="none").sum(-1)
        told = number >= 0
        ce = F.cross_entropy(
            sets.flatten(0, 2), number.clamp(min=0).flatten(), reduction="none", label_smoothing=0.02
        ).reshape(number.shape)
        one = F.one_hot(number.clamp(min=0), len(SETS)).to(sets.dtype) * (told & valid & changed)[..., None]
        count = one.sum((1, 2))
        scene, kind = (count >= LEAST_SEEN).nonzero(as_tuple=True)
        mean = torch.einsum("bhwk,bhwc->bkc", one, sets) / count.clamp(min=1)[..., None]
        region = F.cross_entropy(mean[scene, kind], kind, label_smoothing=0.02) if len(scene) else sets.sum() * 0
        return (weight * binary).sum(), (weight * told * ce).sum(), region


def _lookup() -> np.ndarray:
    return set_of(np.arange(1 << len(KINDS), dtype=np.uint32)).astype(np.int64)


@torch.no_grad()
def progress(net: Net, losses: Losses, held: tuple[torch.Tensor, ...]) -> dict[str, float]:
    """Shares of changed blocks and of regions of held-out scenes that are called rightly."""
    net.eval()
    right = blocks = right_regions = regions = right_kinds = 0
    for i in range(0, len(held[0]), 64):
        r, c, b = (t[i : i + 64] for t in held)
        valid, changed, has, number = losses.targets(r, c, b)
        with torch.autocast(r.device.type, torch.bfloat16):
            kinds, sets, *_ = net(r, c, valid[:, None].float())
        seen = valid & changed
        right += int(((sets.argmax(1) == number) & seen & (number >= 0)).sum())
        right_kinds += int((((kinds > 0).permute(0, 2, 3, 1) == (has > 0)).all(-1) & seen).sum())
        blocks += int(seen.sum())
        logs = sets.float().log_softmax(1)
        for scene in range(len(r)):
            for code in number[scene][seen[scene]].unique():
                mask = seen[scene] & (number[scene] == code)
                if code >= 0 and mask.sum() >= 8:
                    right_regions += int(logs[scene][:, mask].sum(1).argmax() == code)
                    regions += 1
    net.train()
    share = lambda a, n: round(a / max(n, 1), 4)
    return {
        "blocks": share(right, blocks),
        "kinds": share(right_kinds, blocks),
        "regions": share(right_regions, regions),
    }


def train(
    shards: Path, out: Path, seconds: float, shape: Shape, *, batch: int, rate: float, capacity: int, side: int,
    keep: bool = False, hold: int = 512, alive: Callable[[], bool] = lambda: True,
) -> Iterator[dict]:  # fmt: skip
    """Train until the time is over; yields what is known of the progress, and resumes from `out` if it is there."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    net = Net(shape).to(device).to(memory_format=torch.channels_last)
    optimiser = torch.optim.AdamW(_groups(net), lr=rate, betas=(0.9, 0.99))
    mean = copy.deepcopy(net).requires_grad_(False)
    state = {"step": 0, "seconds": 0.0}
    if out.exists():
        saved = torch.load(out, map_location=device, weights_only=True)
        for name, part in (("net", net), ("mean", mean), ("optimiser", optimiser)):
            part.load_state_dict(saved[name])
        state = saved["state"]
    ring, losses = Ring(shards, capacity, side, device, keep=keep, hold=hold), Losses(device)
    drawn = time.time()
    while ring.filled < 2 * batch:
        drawn = time.time() if alive() else drawn
        if time.time() - drawn > PATIENCE:
            raise RuntimeError(f"{shards}: too few scenes to train on, and nothing draws more; see above")
        ring.take()
        time.sleep(0.2)
    start, last, guard = time.time() - state["seconds"], time.time(), _Guard(net)
    while (elapsed := (time.time() - start) / seconds) < 1:
        if state["step"] % 20 == 0:
            ring.take()
        for group in optimiser.param_groups:
            group["lr"] = rate * guard.factor * _schedule(state["step"], elapsed)
        r, c, b = ring.batch(batch, side if elapsed > SMALL else side // 2)
        targets = losses.targets(r, c, b)
        with torch.autocast(device, torch.bfloat16):
            kinds, sets, *_ = net(r, c, targets[0][:, None].float())
        parts = losses(kinds, sets, targets)
        loss = sum(parts)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimiser.step()
        _follow(mean, net, state["step"])
        state["step"] += 1
        if state["step"] % 50 == 0 and guard.ran_away(float(loss.detach()), net, optimiser):
            yield {"fell back": guard.factor}
        if time.time() - last > TOLD:
            last = time.time()
            state["seconds"] = last - start
            _save(out, net, mean, optimiser, state)
            told = progress(mean, losses, ring.held)
            yield {**state, "loss": [round(float(p.detach()), 3) for p in parts], **told, "scenes": ring.total}
    state["seconds"] = time.time() - start
    _settle(mean, ring, losses, batch)
    _save(out, net, mean, optimiser, state)
    yield {**state, **progress(mean, losses, ring.held), "scenes": ring.total}


def _groups(net: Net) -> list[dict]:
    parameters = list(net.parameters())
    return [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": 0.05},
        {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
    ]


def _schedule(step: int, elapsed: float) -> float:
    """Warm-up over 300 steps, constant for a third of the time, then a half cosine to nearly nothing."""
    fall = 1.0 if elapsed < 0.35 else 0.005 + 0.995 * 0.5 * (1 + math.cos(math.pi * (elapsed - 0.35) / 0.65))
    return min(1.0, (step + 1) / 300) * fall


@torch.no_grad()
def _follow(mean: Net, net: Net, step: int) -> None:
    """Moving average of the weights; of the running statistics the newest are taken."""
    share = 1 - min(0.998, (1 + step) / (10 + step))
    torch._foreach_lerp_(list(mean.parameters()), list(net.parameters()), share)
    for a, b in zip(mean.buffers(), net.buffers()):
        a.copy_(b)


@torch.no_grad()
def _settle(mean: Net, ring: Ring, losses: Losses, batch: int, batches: int = 60) -> None:
    """Measure the running statistics anew with the averaged weights."""
    norms = [m for m in mean.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # the plain mean over all batches
    mean.train()
    for _ in range(batches):
        r, c, b = ring.batch(batch, ring.reference.shape[-1])
        with torch.autocast(r.device.type, torch.bfloat16):
            mean(r, c, losses.targets(r, c, b)[0][:, None].float())
    mean.eval()


class _Guard:
    """Takes the weights of before back where the loss runs away."""

    def __init__(self, net: Net) -> None:
        self.factor, self.best, self.slow = 1.0, np.inf, None
        self.good = copy.deepcopy(net.state_dict())

    def ran_away(self, loss: float, net: Net, optimiser: torch.optim.Optimizer) -> bool:
        self.slow = loss if self.slow is None else 0.9 * self.slow + 0.1 * loss
        if np.isfinite(loss) and self.slow <= GUARD * self.best:
            if self.slow < self.best:
                self.best, self.good = self.slow, copy.deepcopy(net.state_dict())
            return False
        net.load_state_dict(self.good)
        optimiser.state.clear()
        self.factor, self.slow, self.best = self.factor / 2, None, np.inf
        return True


def _save(out: Path, net: Net, mean: Net, optimiser: torch.optim.Optimizer, state: dict) -> None:
    temporary = out.with_suffix(".tmp")
    torch.save(
        {"net": net.state_dict(), "mean": mean.state_dict(), "optimiser": optimiser.state_dict(), "state": state,
         "shape": json.dumps(net.shape.as_dict())}, temporary,
    )  # fmt: skip
    os.replace(temporary, out)
