"""Below all rooms: settings, clients, log, metrics, errors, conditional writes."""
