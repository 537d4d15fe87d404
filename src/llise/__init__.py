"""See what went wrong with an image, and where.

One way through the package, one module an arrow:

    images -> blocks -> Gram -> neighbours -> weights -> embedding -> recognition -> report
    (n,h,w)  (b,n,q)  (b,n,n)   (b,n,k)      (b,n,k)    (b,n,p)      labels, maps    one .html
"""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("llise")
except PackageNotFoundError:  # run from a source tree that is not installed
    __version__ = "0+unknown"

# Public names are imported on first use, so that ``llise --help`` need not wait for SciPy and Numba.
_HOME = {
    "LLISE": "estimators",
    "KernelLLISE": "estimators",
    "LLE": "baselines",
    "KernelLLE": "baselines",
    "ADMM": "admm",
    "DistortionRecognizer": "recognition",
    "Diagnosis": "diagnosis",
    "Diagnoser": "diagnosis",
    "diagnose": "diagnosis",
    "ssim": "objectives",
    "ssim_distance": "objectives",
    "save": "storage.models",
    "load": "storage.models",
    "read_image": "images",
    "LABELS": "labels",
    "KINDS": "labels",
}
_MODULES = ("distortions", "datasets", "experiments", "report")

__all__ = sorted([*_HOME, *_MODULES])


def __getattr__(name: str):
    if name in _HOME:
        value = getattr(import_module(f"llise.{_HOME[name]}"), name)
    elif name in _MODULES:
        value = import_module(f"llise.{name}")
    else:
        raise AttributeError(f"module 'llise' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
