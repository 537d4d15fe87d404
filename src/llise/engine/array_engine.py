"""Every step in the array namespace of the input (torch and others): what ``llise.engine.of`` returns for it."""

from llise.engine.array_admm import admm_embedding, admm_weights
from llise.engine.array_blocks import batches, cut, sums, workers
from llise.engine.array_eigen import nearest_semidefinite
from llise.engine.array_embedding import exact_embedding, project_centred, reconstruct
from llise.engine.array_gram import centred_local_products, centred_products, local_products, products, squares
from llise.engine.array_neighbors import nearest, take_local, training_problems
from llise.engine.array_weights import affine_weights, reconstruction_values, sphere_weights

__all__ = [
    "admm_embedding",
    "admm_weights",
    "affine_weights",
    "batches",
    "centred_local_products",
    "centred_products",
    "cut",
    "exact_embedding",
    "local_products",
    "nearest",
    "nearest_semidefinite",
    "products",
    "project_centred",
    "reconstruct",
    "reconstruction_values",
    "sphere_weights",
    "squares",
    "sums",
    "take_local",
    "training_problems",
    "workers",
]
