"""What a suite found, and how it looks: properties, and for each the smallest case on which it failed."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Result:
    """One property: whether it held in every case, and if not, in which one it failed and how."""

    property: str
    passed: bool
    message: str = ""


@dataclass(frozen=True)
class Report:
    """All properties of one part."""

    kind: str
    name: str
    results: tuple[Result, ...]

    @property
    def passed(self) -> bool:
        return all(result.passed for result in self.results)

    @property
    def failures(self) -> tuple[Result, ...]:
        return tuple(result for result in self.results if not result.passed)

    def __str__(self) -> str:
        held = len(self.results) - len(self.failures)
        lines = [f"{self.kind} {self.name}: {held} of {len(self.results)} properties hold"]
        for result in self.results:
            lines.append(f"  {'ok  ' if result.passed else 'FAIL'}  {result.property}")
            lines += [f"        {line}" for line in result.message.splitlines()]
        return "\n".join(lines)
