"""The local page of ``llise serve``: pictures are dropped on it, verdicts appear one by one (extra ``serve``).

``uploads`` receives files, ``jobs`` judges them, ``guard`` refuses requests that do not come from the page, ``app``
puts them together and ``server`` runs them.
"""
