"""Numbers of bytes as people say them."""


def human(size: int | None) -> str:
    """1234567 as 1.2 MB; a question mark for what nobody knows."""
    if size is None:
        return "?"
    number, units = float(size), ["bytes", "kB", "MB", "GB", "TB"]
    while number >= 1000 and len(units) > 1:
        number, units = number / 1000, units[1:]
    return f"{number:.0f} {units[0]}" if units[0] == "bytes" or number >= 100 else f"{number:.1f} {units[0]}"
