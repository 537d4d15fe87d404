"""What the change of single grey levels tells: contrast or luminance, levels that are left, tables of greys."""
