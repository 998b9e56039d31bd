"""To copy and change: nothing in Slipway imports it."""
