"""What runs the model of a deployed stack: an endpoint of SageMaker, or machines of EC2."""
