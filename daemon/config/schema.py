"""The JSON schema of the configuration, for editors; generated from the models."""

from __future__ import annotations

import json

from daemon.config.models import Config


def schema_text() -> str:
    """The schema as it stands in ``config/asagoe.schema.json``."""
    schema = Config.model_json_schema(mode="validation")
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "Asagoe"
    return json.dumps(schema, ensure_ascii=False, indent=2) + "\n"
