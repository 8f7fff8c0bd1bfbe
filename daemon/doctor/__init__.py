"""Examines the machine, the configuration and the service, and says what to do about what is wrong.

Each check is a function of a ``Patient`` that gives ``Finding``s; ``examine`` runs them apart from each other.
"""
