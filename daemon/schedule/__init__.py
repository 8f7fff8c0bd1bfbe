"""When something is due: rules, the planner that computes occurrences, and the scheduler that waits for them."""
