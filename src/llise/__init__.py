"""See what went wrong with an image, and where.

The data's way through the package, one module per step:

    images -> blocks -> Gram -> neighbours -> weights -> embedding -> recognition -> report
    (n,h,w)  (b,n,q)  (b,n,n)   (b,n,k)      (b,n,k)    (b,n,p)      labels, maps    one .html
"""

# Public names are imported on first use, so that ``llise --help`` does not wait for SciPy and Numba. Nothing at all is
# imported here: Ctrl-C while the program starts is reported without a traceback only after this file.
_MODULE_OF = {
    "LLISE": "manifold.estimators",
    "KernelLLISE": "manifold.kernel_llise",
    "LLE": "manifold.baselines",
    "KernelLLE": "manifold.baselines",
    "DistortionRecognizer": "manifold.recognition",
    "Diagnoser": "diagnosis",
    "ADMM": "manifold.admm",
    "Diagnosis": "diagnosis",
    "diagnose": "diagnosis",
    "trustworthiness": "manifold.neighborhoods",
    "continuity": "manifold.neighborhoods",
    "ssim": "manifold.objectives",
    "ssim_distance": "manifold.objectives",
    "save": "storage.models",
    "load": "storage.models",
    "read_image": "images",
    "LABELS": "labels",
    "KINDS": "labels",
}
_MODULES = ("distortions", "datasets", "experiments", "kinds", "plot", "report")

__all__ = sorted([*_MODULE_OF, *_MODULES])


def __getattr__(name: str):
    from importlib import import_module

    value: object
    if name == "__version__":
        value = _version()
    elif name in _MODULE_OF:
        value = getattr(import_module(f"llise.{_MODULE_OF[name]}"), name)
    elif name in _MODULES:
        value = import_module(f"llise.{name}")
    else:
        raise AttributeError(f"module 'llise' has no attribute {name!r}")
    globals()[name] = value
    return value


def _version() -> str:
    """Version of the installed package, looked up on first use because that takes longer than the import itself."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("llise")
    except PackageNotFoundError:  # run from a source tree that is not installed
        return "0+unknown"


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
