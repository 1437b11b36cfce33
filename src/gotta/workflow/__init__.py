"""From a recipe or a spec to results, in steps one can look at: plan, run, conclude."""

from gotta.workflow.bench_plan import Plan
from gotta.workflow.calls import bench, plan, run
from gotta.workflow.result import Result

__all__ = ["Plan", "Result", "bench", "plan", "run"]
