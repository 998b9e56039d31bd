"""What the developers of Slipway run by hand: measurements, recordings, a smoke test on AWS."""
