"""The API's entry points, one route per file."""
