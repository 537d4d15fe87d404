"""The second look: a part made again from the reference with each likely set of kinds, and compared.

What each set leaves unexplained is weighed; what no set of named kinds accounts for is unknown.
"""
