"""Plain text: each line is one sequence."""

from .found import Reading, Request, Row


def read(lines: list[str], request: Request) -> Reading[Row]:
    """Every line that is not blank, whole and unchanged; the blank ones too if they are wanted."""
    reading: Reading[Row] = Reading()
    for number, line in enumerate(lines, 1):
        if line.strip() or request.keep_blank:
            reading.rows.append(Row(number, (line,)))
        else:
            reading.blank.append(number)
    return reading
