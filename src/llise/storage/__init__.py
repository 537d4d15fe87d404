"""Files that are written whole, model files, and the cache of fitted models."""
