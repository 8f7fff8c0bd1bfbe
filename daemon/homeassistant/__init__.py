"""Home Assistant finds the node by itself (MQTT discovery): what it is told, in whose words, and when."""
