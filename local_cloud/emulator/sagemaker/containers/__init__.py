"""The instances of endpoints, and the model containers that run on them."""
