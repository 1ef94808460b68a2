# SPDX-License-Identifier: Apache-2.0
"""The verb `report`: a page on a record, with plots of path, tracking error, timing and faults."""

from collections.abc import Sequence
from pathlib import Path

from manipulator3d.cli.record import record_parser
from manipulator3d.records.measured_run import measure_run
from manipulator3d.records.record_error import RecordError
from manipulator3d.records.record_reader import RecordReader


def main(verb: str, arguments: Sequence[str]) -> int:
    """Write the page; returns the exit code.

    Raises:
        RecordError: the record cannot be read, the page not written, or matplotlib is missing.
    """
    parser = record_parser(verb, "Make a page on a record: path, tracking error, timing per phase, faults.")
    parser.add_argument("--output", metavar="F.html", help="page to write (default: the record's name with .html)")
    options = parser.parse_args(arguments)
    record = Path(options.record)
    output = Path(options.output) if options.output else record.with_suffix(".html")
    try:
        from manipulator3d.records.report_page import report_page
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        raise RecordError("report needs matplotlib, which is not installed (pip install matplotlib)") from error
    reader = RecordReader(record)
    run = measure_run(reader)
    page = report_page(run, record.name, reader.complete)
    try:
        output.write_text(page)
    except OSError as error:
        raise RecordError(f"{output}: {error.strerror}; give another --output") from error
    print(output)
    return 0
