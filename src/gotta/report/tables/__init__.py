"""The tables of finished runs and how to show them. Pure: everything comes from the store."""

from gotta.report.answer import findings, headline
from gotta.report.axes import Panel, panels
from gotta.report.beside import beside_table
from gotta.report.captions import environment_lines, setup_lines
from gotta.report.cells import Cell, Row, Table
from gotta.report.comparison import table
from gotta.report.details import calibration_table, cost_table, domain_table, memory_table
from gotta.report.document import report_markdown
from gotta.report.gains import gain_table
from gotta.report.matrix import matrix_table
from gotta.report.places import setups
from gotta.report.render import markdown, plain, rich_table
from gotta.report.write import write_report

__all__ = [
    "Cell",
    "Panel",
    "Row",
    "Table",
    "beside_table",
    "calibration_table",
    "cost_table",
    "domain_table",
    "environment_lines",
    "findings",
    "gain_table",
    "headline",
    "markdown",
    "matrix_table",
    "memory_table",
    "panels",
    "plain",
    "report_markdown",
    "rich_table",
    "setup_lines",
    "setups",
    "table",
    "write_report",
]
