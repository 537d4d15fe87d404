"""Attacks on the package: one module for each area, with a NAME and ``run(scale, rng, folder)``, see attack.py."""
