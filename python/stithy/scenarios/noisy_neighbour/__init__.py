"""Noisy neighbours: what tenants lose to an aggressor on the same storage."""
