"""Examples to copy and change; Slipway does not import them."""
