"""Speech that is made on another node: a small machine speaks with the voice of a big one."""
