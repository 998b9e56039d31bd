"""The services of AWS that need one module each."""
