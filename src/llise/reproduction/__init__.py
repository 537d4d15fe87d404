"""The paper's experiments: methods, results, and the report that compares them with the paper's table.

What computes: ``methods``, ``evaluation``, ``convergence``, ``authors_data``, ``parts`` and ``experiments``, which runs
them all.  What only shows results: ``findings``, ``narrative``, ``claims``, ``figures`` and ``pages``;
these need the extra ``plot``.
"""
