"""Memory for test-time adaptation: which samples drive the adaptation matters as much as the objective."""

__version__ = "0.1.0"
