"""Settings that must be made before anything is imported."""

import os

# scikit-learn's estimator checks on array API input run only under this.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
