"""Which kinds the parts of a copy's areas have: the judge's answers, and measurements that may contradict them.

:mod:`llise.diagnosis.naming.part_naming` leads through the steps; each other module is one of them.
"""
