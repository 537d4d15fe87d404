"""Fitted estimators as plain arrays and settings, and back; what :mod:`llise.storage.models` writes.

LLISE and kernel LLISE keep their images, coordinates and the kernel's statistics: all that new images need. The
weights are left out, as with ``store_weights=False``, so that a model stays little larger than its images. LLE is
quick and learns again.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray]
NOT_KEPT = ("weights", "neighbors")


def state_of(model: Any) -> tuple[Arrays, dict[str, Any]]:
    """Arrays and settings from which :func:`restored` builds the fitted estimator again."""
    from sklearn.utils.validation import check_is_fitted

    from llise.engine.backend import to_numpy
    from llise.estimators import LLISE
    from llise.recognition import DistortionRecognizer

    check_is_fitted(model)
    if isinstance(model, DistortionRecognizer):
        arrays, settings = state_of(model.manifold_)
        manifold = {"class": type(model.manifold_).__name__, "given": model.manifold is not None, **settings}
        return {**arrays, "codes": model._codes}, {"classes": model.classes_.tolist(), "manifold": manifold}
    arrays = {"training_images": to_numpy(model.training_images_)}
    settings = {"parameters": _encoded(model.get_params(deep=False)), "rows": model.image_shape_ is None}
    if isinstance(model, LLISE):
        kept = {name: value for name, value in vars(model.blocks_).items() if name not in NOT_KEPT}
        arrays |= {name: to_numpy(value) for name, value in kept.items() if value is not None}
        settings |= {"data_range": model.data_range_, "seed": model._fitted_settings.seed}
    return arrays, settings


def restored(name: str, arrays: Arrays, settings: dict[str, Any]) -> Any:
    """The fitted estimator of class ``name``; ValueError where arrays do not belong together."""
    import llise

    if name == "DistortionRecognizer":
        return _recognizer(arrays, settings)
    model = getattr(llise, name)(**_decoded(settings["parameters"]))
    images = arrays["training_images"]
    X = images.reshape(len(images), -1) if settings["rows"] else images
    if not isinstance(model, llise.LLISE):
        return model.fit(X)
    return model._resume(X, arrays, settings["data_range"], int(settings["seed"]))


def _recognizer(arrays: Arrays, settings: dict[str, Any]) -> Any:
    from sklearn.base import clone

    from llise.recognition import DistortionRecognizer

    learned = settings["manifold"]
    if learned["class"] not in ("LLISE", "KernelLLISE", "LLE", "KernelLLE"):
        raise ValueError(f"its manifold is a {learned['class']!r}")
    manifold = restored(learned["class"], arrays, learned)
    classes, codes = np.array(settings["classes"]), arrays["codes"]
    if codes.shape != (len(manifold.training_images_),) or not np.isin(codes, np.arange(len(classes))).all():
        raise ValueError(f"codes of shape {codes.shape} do not name a class for each image")
    model = DistortionRecognizer(clone(manifold) if learned["given"] else None)
    model.manifold_, model.n_features_in_ = manifold, manifold.n_features_in_
    model.classes_, model._codes = classes, codes
    model._judge_training()
    return model


def _encoded(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters as JSON takes them: the ADMM solver as its own settings."""
    from llise.admm import ADMM

    return {name: asdict(value) if isinstance(value, ADMM) else value for name, value in parameters.items()}


def _decoded(parameters: dict[str, Any]) -> dict[str, Any]:
    """The reverse; JSON's lists were tuples."""
    from llise.admm import ADMM

    decoded: dict[str, Any] = {}
    for name, value in parameters.items():
        if isinstance(value, dict):
            value = ADMM(**_decoded(value))
        decoded[name] = tuple(value) if isinstance(value, list) else value
    return decoded
