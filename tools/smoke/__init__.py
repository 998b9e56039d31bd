"""A real deploy of two small endpoints: answers what only AWS can tell, and leaves nothing behind."""
