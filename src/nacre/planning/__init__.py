"""What a plan will give before it is paid for: forecasts, comparisons, time and memory."""
