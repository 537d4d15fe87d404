"""What the judge sees of a region: sums over its 8 x 8 blocks, and features of these sums.

Sums of blocks add up, so that the features of any region cost no second look at its pixels.
"""
