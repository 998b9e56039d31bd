"""What a deployed service costs: hours, prices and sums; estimates from CloudWatch's metrics, never a bill."""
