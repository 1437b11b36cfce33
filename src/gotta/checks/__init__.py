"""Public conformance suites: what any memory, method, order, schedule or data set must satisfy, whoever wrote it."""
