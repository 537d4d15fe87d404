"""Diagnoses as a table, CSV, JSON and an HTML report; nothing is computed here."""
