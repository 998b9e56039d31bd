"""The tasks of each minute, which `handlers/every_minute.py` calls one at a time."""
