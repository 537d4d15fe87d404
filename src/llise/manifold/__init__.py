"""The paper: a manifold of images by the structural similarity of their blocks, and what is recognised on it.

The data's way, one module per step: ``blocks``, ``gram``, ``neighbors``, ``weights``, ``embedding``, ``recognition``.
``pipeline`` runs them on a chunk of blocks, ``execution`` on all; ``estimators`` and ``baselines`` are the learners.
"""
