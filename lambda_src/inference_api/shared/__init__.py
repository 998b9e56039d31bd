"""Used by all other folders: settings, clients, log, metrics, errors, conditional writes."""
