"""What limited the throughput of each window: bounds that it cannot exceed, one rule a file.

The way of thinking is that of operational analysis: each resource and each part of a user's time
is a bound on throughput, which the others cannot lift. A rule says how much of its bound a window
reached, the tightest bound is what limited it, and the inverse of its share is how much more all
else together could give.
Source: Denning and Buzen, "The operational analysis of queueing network models" (1978).
"""
