"""Jobs: their store and queue, the functions that move them on, and batches of them."""
