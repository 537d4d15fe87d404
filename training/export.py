"""From the trained network to the two files of the package."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save
from torch import nn

from training.labels import KINDS, SETS
from training.net import Conv, Net, Shape


def folded(net: Net) -> dict[str, np.ndarray]:
    """Weights (inputs by row, column and channel; outputs) with batch normalisation folded in, and biases."""
    arrays: dict[str, np.ndarray] = {}
    for name, module in net.named_modules():
        if isinstance(module, Conv):
            norm = module.norm
            gain = norm.weight / (norm.running_var + norm.eps).sqrt()
            weight, bias = module.conv.weight * gain[:, None, None, None], norm.bias - gain * norm.running_mean
        elif isinstance(module, nn.Linear) or (isinstance(module, nn.Conv2d) and module.bias is not None):
            weight, bias = module.weight, module.bias
        else:
            continue
        weight = weight.reshape(*weight.shape, *[1] * (4 - weight.ndim)).permute(2, 3, 1, 0)
        arrays[f"{name}.w"] = weight.reshape(-1, weight.shape[-1]).detach().float().cpu().numpy().copy()
        arrays[f"{name}.b"] = bias.detach().float().cpu().numpy().copy()
    return arrays


def read(checkpoint: Path) -> Net:
    """The network with the averaged weights of a checkpoint."""
    saved = torch.load(checkpoint, map_location="cpu", weights_only=True)
    net = Net(Shape(**{k: tuple(v) if isinstance(v, list) else v for k, v in json.loads(saved["shape"]).items()}))
    net.load_state_dict(saved["mean"])
    return net.eval()


def export(net: Net, folder: Path, name: str, tuned: dict) -> None:
    """Write model.safetensors (float16) and model.json, each as a whole or not at all."""
    arrays = {key: array.astype(np.float16) for key, array in folded(net).items()}
    told = {"name": name, "kinds": KINDS, "sets": SETS, "tuned": tuned}
    for file, data in (("model.safetensors", save(arrays)), ("model.json", json.dumps(told, indent=1).encode())):
        temporary = folder / f".{file}.tmp"
        temporary.write_bytes(data)
        os.replace(temporary, folder / file)
