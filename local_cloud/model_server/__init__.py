"""A small model server that stands in for the containers of TGI, LMI and other engines."""
