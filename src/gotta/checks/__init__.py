"""Public conformance suites: what any part must satisfy, whoever wrote it."""
