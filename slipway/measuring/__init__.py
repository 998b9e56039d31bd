"""`slipway bench`: loads on a deployment, and what they tell."""
