"""What to do about an error or a finding on a page, where the catalogue names options of the command."""

from __future__ import annotations

UPLOAD_WAYS = {
    "E104": "Say what the file calls them under “Names of columns”, below, such as `labeler=rater, label=verdict`.",
    "E108": "Keep one label per labeler and item. Of Langfuse say below what one item is, if observations are.",
    "E121": "Name it below: under “Question or score in the file”, or “Model in the file” if it holds several models.",
    "E122": "Name another “Question or score in the file” below, or the tool that the file “Came from”.",
    "E130": "Name the “Columns that are labelers” below.",
    "E203": "Write the class under “Class to count”, below.",
    "E206": "Write the question under “Question”, below.",
    "F118": "Nothing, if they are scores; add answers by `hero add --label-kind answer`.",
    "F804": "Write the day under “Date”, below, such as 2026-11-09; without it the round counts as of today.",
}
"""Of a file that comes in."""

ROUND_WAYS = {"E203": "Write the class under “Class to count”, below, and press “Estimate”."}
"""Of a round."""
