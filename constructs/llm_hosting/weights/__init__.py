"""Model weights in S3: staging them, and permission to read them."""
