"""The tables of finished runs and how to show them. Pure: everything comes from the store."""

from gotta.report.captions import environment_lines, setup_lines
from gotta.report.cells import Cell, Row, Table
from gotta.report.comparison import table
from gotta.report.details import calibration_table, cost_table, domain_table, memory_table
from gotta.report.document import report_markdown, write_report
from gotta.report.places import setups
from gotta.report.render import markdown, plain, rich_table

__all__ = [
    "Cell",
    "Row",
    "Table",
    "calibration_table",
    "cost_table",
    "domain_table",
    "environment_lines",
    "markdown",
    "memory_table",
    "plain",
    "report_markdown",
    "rich_table",
    "setup_lines",
    "setups",
    "table",
    "write_report",
]
