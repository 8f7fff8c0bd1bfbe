"""From a sentence to what the network takes."""
