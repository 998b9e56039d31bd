"""A seeded simulation in virtual time: the shipped handlers, run on an AWS in memory that fails in every way it can."""
