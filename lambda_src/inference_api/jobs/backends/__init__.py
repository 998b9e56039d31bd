"""The ways in which a job reaches the model: a queue, machines that sleep, or an asynchronous endpoint."""
