"""Parts of ``benchmarks/recognition.py``: pictures, programs, cases, measures and tables."""
