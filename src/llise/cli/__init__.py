"""The command line: one file for each command, ``options`` and ``running`` shared by all, ``main`` for errors.

Libraries are imported inside the commands that need them, so that ``llise --help`` answers at once.
"""
