"""Random scenes with the truth about them, from which both judges learn; a diagnosis uses none of it.

pictures -> copies -> scenes -> samples -> the judges
"""
