"""Words of briefings: templates in a sandbox, with filters for speech in a language pack."""
