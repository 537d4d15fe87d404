"""Every step for torch tensors on an NVIDIA GPU: CUDA kernels where there is one, else the array namespace."""

from llise.engine.array_admm import admm_embedding, admm_weights
from llise.engine.array_blocks import batches, cut, sums, workers
from llise.engine.array_eigen import nearest_semidefinite
from llise.engine.array_embedding import project_centred, reconstruct
from llise.engine.array_gram import centred_products, products, squares
from llise.engine.array_neighbors import take_local
from llise.engine.cuda_embedding import exact_embedding
from llise.engine.cuda_gram import centred_local_products, local_products
from llise.engine.cuda_neighbors import nearest, training_problems
from llise.engine.cuda_weights import affine_weights, reconstruction_values, sphere_weights

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
