"""The check of a batch's input: lines of any size in chunks cut anywhere, with bounded memory."""

import json
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from inference_api.batches import input_lines
from inference_api.batches.input_lines import check_input, read_block, split_lines
from inference_api.batches.plan import BLOCK_LINES

ENDPOINT = "/v1/chat/completions"


def line(custom_id: str, **more: Any) -> bytes:
    body = {"model": "m", "messages": [{"role": "user", "content": "\u00e9"}]}
    request = {"custom_id": custom_id, "method": "POST", "url": ENDPOINT, "body": body} | more
    return json.dumps(request, ensure_ascii=False).encode()


def check(raw: bytes) -> input_lines.CheckedInput:
    return check_input([raw], ENDPOINT, ["m"], 1000)


@given(st.lists(st.binary(max_size=30), max_size=20), st.lists(st.integers(0, 200), max_size=10))
def test_lines_are_the_same_however_the_chunks_are_cut(lines: list[bytes], cuts: list[int]) -> None:
    raw = b"\n".join(each.replace(b"\n", b"") for each in lines)
    ends = sorted({min(cut, len(raw)) for cut in cuts} | {0, len(raw)})
    chunks = [raw[start:end] for start, end in pairwise(ends)]
    found = list(split_lines(chunks, longest=1000))
    assert [each for _, _, each in found] == (raw.removesuffix(b"\n").split(b"\n") if raw else [])[: len(found)]
    assert all(raw[offset : offset + len(each)] == each for _, offset, each in found)
    assert [number for number, _, _ in found] == list(range(1, len(found) + 1))


def test_the_blocks_of_an_input_hold_all_its_lines_in_order() -> None:
    raw = b"\xef\xbb\xbf" + b"\r\n".join([line("first"), b"", *(line(f"n{number}") for number in range(250))]) + b"\r\n"
    checked = check_input([raw[at : at + 1000] for at in range(0, len(raw), 1000)], ENDPOINT, ["m"], 1000)
    assert (checked.lines, checked.problems) == (251, [])
    read = [each for first, at, size in checked.blocks for each in read_block(raw[at : at + size], first)]
    assert [each.custom_id for each in read] == ["first", *(f"n{number}" for number in range(250))]
    assert [read[0].number, read[1].number, read[-1].number] == [1, 3, 252]
    assert len(checked.blocks) == -(-251 // BLOCK_LINES)


def test_lines_may_call_the_model_anything_where_the_deployment_takes_any_name() -> None:
    raw = b"\n".join([line("a", body={"model": "gpt-4o"}), line("b", body={})])
    assert [each["code"] for each in check(raw).problems] == ["model_not_found"] * 2
    assert check_input([raw], ENDPOINT, None, 1000).problems == []


def test_each_problem_names_its_line() -> None:
    lines = [line("a"), b"{", b"[]", line("a"), line("b", method="GET"), line("c", url="/v1/completions")]
    lines += [line("d", body={"model": "n"}), line("e", body=[]), line(""), line("f", padding="x" * 4000)]
    found = [(each["line"], each["code"]) for each in check(b"\n".join(lines)).problems]
    assert found == [
        (2, "invalid_json_line"),
        (3, "invalid_json_line"),
        (4, "duplicate_custom_id"),
        (5, "invalid_method"),
        (6, "url_mismatch"),
        (7, "model_not_found"),
        (8, "invalid_body"),
        (9, "invalid_custom_id"),
        (10, "line_too_large"),
    ]


def test_a_body_may_hold_a_deep_schema() -> None:
    schema: dict[str, Any] = {}
    for _ in range(20):
        schema = {"properties": {"inner": schema}}
    body = {"model": "m", "messages": [], "tools": [{"type": "function", "function": {"parameters": schema}}]}
    assert check(line("deep", body=body)).problems == []


def test_an_input_without_lines_and_one_with_too_many_are_refused(monkeypatch: Any) -> None:
    assert [each["code"] for each in check(b" \n\n").problems] == ["empty_file"]
    monkeypatch.setattr(input_lines, "MOST_LINES", 2)
    assert [each["code"] for each in check(b"\n".join(map(line, "abc"))).problems] == ["too_many_tasks"]


def test_of_an_endless_line_only_the_beginning_is_kept() -> None:
    ((number, offset, kept),) = split_lines((b"x" * 1000 for _ in range(50)), longest=100)
    assert (number, offset, len(kept)) == (1, 0, 101)
