"""Kinds of one's own in a diagnosis: their samples, their files, and how they are told from the named kinds.

How a user gives such a kind, as a function or a folder of examples, is in :mod:`llise.kinds.own`.
"""
