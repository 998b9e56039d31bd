"""Used by every room: clients of AWS, its errors in words, tables and progress on the terminal."""
