"""`slipway status --watch`: a service's dashboard in the terminal."""
