"""Files and folders: complete writes, model files, the classes that can be saved, and the cache."""
