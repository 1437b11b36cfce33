"""The report as one web page."""
