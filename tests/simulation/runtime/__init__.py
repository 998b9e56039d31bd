"""Runs the shipped functions in virtual time: scheduler, random faults, Lambda, API Gateway and the model."""
