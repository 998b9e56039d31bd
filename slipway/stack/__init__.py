"""The stack of a deployment on AWS: its outputs, its API, its keys, its alarms."""
