"""The judge, which says what kinds a region has: its networks, its file, and the answers it gives.

It is learned once for all references by :mod:`llise.diagnosis.train`.
"""
