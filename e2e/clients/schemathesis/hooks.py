"""Adapts the bodies that schemathesis generates."""

import schemathesis


@schemathesis.hook
def map_body(context, body):
    """Writes integral floats as integers: JSON Schema accepts `1.0` as an integer, but most programs do not."""
    return whole(body)


def whole(value):
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [whole(item) for item in value]
    if isinstance(value, dict):
        return {name: whole(item) for name, item in value.items()}
    return value
