"""Parts of ``benchmarks/photographs.py``: programs, masks and recipes of cases."""
