"""The broker's side of the service: topics, payloads, the connection, and what commands do."""
