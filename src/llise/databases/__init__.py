"""Public image quality databases: how each is laid out, judging all their images, and what the results show.

None of them comes with the package. A new database is one module with a :class:`~llise.databases.layout.Database` in
it, named in ``registry``.
"""
