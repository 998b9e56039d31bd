"""CloudWatch alarms that MiniStack does not know: on metric math, and composite ones in templates."""
