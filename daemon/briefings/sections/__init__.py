"""The sections that come with the service, one module each."""
