"""The way of a colour copy: faults of its colours are found and undone, and the luma is judged as a grey copy.

mean colours of blocks -> areas -> features -> the colour judge -> settings -> faults
"""
