"""Public conformance suites: what any memory, method, stream or data set must satisfy, whoever wrote it."""
