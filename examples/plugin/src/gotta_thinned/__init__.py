"""A plug-in of gotta with one memory."""
