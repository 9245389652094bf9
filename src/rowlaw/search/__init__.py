"""Minimal hitting sets: knows neither rows nor rules."""
