"""Whether a copy is shifted, turned or scaled as a whole, and what is wrong with it besides.

reduced pictures -> shifts compared -> registration at full size -> confidence -> faults after aligning
"""
