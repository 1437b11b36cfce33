"""The source model, as it was trained."""

from gotta.methods.method import Method, methods


@methods.register("source")
class Source(Method):
    """No adaptation: evaluation mode, the source's own statistics. A memory has no effect."""

    uses_memory = False
