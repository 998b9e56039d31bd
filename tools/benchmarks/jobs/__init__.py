"""Measurements of jobs: their bill, their delay, a sweep over many."""
