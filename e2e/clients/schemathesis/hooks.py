"""What schemathesis is told of JSON that its schemas do not say."""

import schemathesis


@schemathesis.hook
def map_body(context, body):
    """Whole numbers are written as such: to JSON Schema `1.0` is one, and to most programs it is not."""
    return whole(body)


def whole(value):
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [whole(item) for item in value]
    if isinstance(value, dict):
        return {name: whole(item) for name, item in value.items()}
    return value
