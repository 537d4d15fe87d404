"""The compiled and the array-namespace implementation of every step."""
