"""Records what README.md and docs/ show of a running Slipway: commands as SVG, pages as PNG."""
