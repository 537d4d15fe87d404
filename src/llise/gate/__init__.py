"""A gate: whether copies pass by limits and allowed faults, pair by pair.

rules -> settings file -> pairs of files -> measures -> faults -> outcome of each pair

Nothing here imports the diagnosis before two pictures differ.
"""
