"""The settings of the kinds that a fault has, in their own units, with intervals.

pixels of a region -> settings of one kind, or of two one after the other -> what they account for -> intervals

How the settings of one kind are found is in its file in :mod:`llise.kinds`.
"""
