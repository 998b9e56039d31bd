"""Modules that every room uses: clients of AWS, its errors in words, tables and progress on the terminal."""
