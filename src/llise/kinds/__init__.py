"""Kinds of distortion: one file for each kind, the registry of all kinds, and the search for a wanted error.

A new kind is one file here and one line in :mod:`llise.kinds.registry`; ``docs/add-a-kind.md`` shows how.
:mod:`llise.distortions` is the public interface for making distorted copies.
"""
