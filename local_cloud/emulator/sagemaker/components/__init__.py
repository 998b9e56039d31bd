"""Inference components: endpoints without a model, their instances, and the components whose copies run on these."""
