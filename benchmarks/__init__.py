"""Measurements: ratios against a floor taken in the same run, never a gate."""
