"""A conversation: system prompt, turns, edits, retries, samples to choose from, and Markdown that stays harmless."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from browser.conftest import Visit
from support.stand_ins.api import Call, Reply, StandInApi, chat_chunks

CHAT = {"chat_template": True, "streams": ["chat", "text"]}


def counting(call: Call) -> Reply:
    """Answer with the number of messages and the last one."""
    messages = call.body["messages"]
    return 200, {}, chat_chunks([f"{len(messages)} with ", messages[-1]["content"]])


@pytest.fixture
def api() -> Iterator[StandInApi]:
    with StandInApi({"POST chat/completions": counting}, **CHAT) as running:
        yield running


def say(page: Page, text: str) -> None:
    page.get_by_label("Message", exact=True).fill(text)
    page.keyboard.press("Enter")
    expect(page.get_by_label("Message", exact=True)).to_have_value("")
    expect(page.locator("#phase")).to_have_text("Done")


def sent(api: StandInApi) -> list[str]:
    """Return the contents of the messages in the last request."""
    return [each["content"] for each in api.called("POST chat/completions")[-1].body["messages"]]


def test_a_model_with_a_chat_template_begins_with_a_chat_and_its_examples(visit: Visit, api: StandInApi) -> None:
    page = visit(api.url)
    expect(page.get_by_label("Chat")).to_be_checked()
    page.get_by_role("button", name="Compare three ways").click()
    expect(page.get_by_label("Message", exact=True)).to_have_value("Compare three ways to store passwords, in a table.")
    expect(page.get_by_label("Length", exact=True)).to_have_value("512")
    page.get_by_label("Text", exact=True).check()
    expect(page.get_by_role("button", name="Once upon a time")).to_be_visible()
    expect(page.get_by_label("Length", exact=True)).to_have_value("80")


def test_a_model_without_one_begins_with_text(visit: Visit) -> None:
    with StandInApi({}) as api:
        expect(visit(api.url).get_by_label("Text", exact=True)).to_be_checked()


def test_a_conversation_goes_on_with_its_system_prompt_and_its_turns(visit: Visit, api: StandInApi) -> None:
    page = visit(api.url)
    page.locator("#system-box summary").click()
    page.get_by_label("System prompt").fill("Be short.")
    say(page, "One")
    say(page, "Two")
    assert sent(api) == ["Be short.", "One", "2 with One", "Two"]
    expect(page.locator(".turn .text")).to_have_text(["One", "2 with One", "Two"])
    expect(page.locator(".sample .written")).to_have_text("4 with Two")


def test_shift_and_enter_begin_a_line(visit: Visit, api: StandInApi) -> None:
    page = visit(api.url)
    page.get_by_label("Message", exact=True).fill("One")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("Two")
    page.keyboard.press("Enter")
    expect(page.locator("#phase")).to_have_text("Done")
    assert sent(api) == ["One\nTwo"]


def test_an_edited_message_is_sent_again_without_the_later_turns(visit: Visit, api: StandInApi) -> None:
    page = visit(api.url)
    say(page, "One")
    say(page, "Two")
    page.get_by_role("button", name="Edit message 1").click()
    page.get_by_label("Message 1", exact=True).fill("Three")
    page.get_by_role("button", name="Send again").click()
    expect(page.locator(".sample .written")).to_have_text("1 with Three")
    expect(page.locator(".turn .text")).to_have_text(["Three"])
    assert sent(api) == ["Three"]


def test_an_abandoned_edit_changes_nothing(visit: Visit, api: StandInApi) -> None:
    page = visit(api.url)
    say(page, "One")
    page.get_by_role("button", name="Edit message 1").click()
    page.get_by_label("Message 1", exact=True).fill("Three")
    page.get_by_role("button", name="Leave as it was").click()
    expect(page.locator(".turn .text")).to_have_text(["One"])
    assert len(api.called("POST chat/completions")) == 1


def test_an_edited_answer_is_sent_in_place_of_the_models_own(visit: Visit, api: StandInApi) -> None:
    page = visit(api.url)
    say(page, "One")
    say(page, "Two")
    page.get_by_role("button", name="Edit message 2").click()
    page.get_by_label("Message 2", exact=True).fill("Mine")
    page.get_by_role("button", name="Save").click()
    say(page, "Three")
    assert sent(api) == ["One", "Mine", "Two", "3 with Two", "Three"]


def test_a_retry_asks_again_for_the_answer(visit: Visit, api: StandInApi) -> None:
    page = visit(api.url)
    say(page, "One")
    say(page, "Two")
    page.get_by_role("button", name="Retry this answer").click()
    expect(page.locator("#phase")).to_have_text("Done")
    assert sent(api) == ["One", "1 with One", "Two"]
    page.get_by_role("button", name="Retry message 2").click()
    expect(page.locator(".turn .text")).to_have_text(["One"])
    expect(page.locator(".sample .written")).to_have_text("1 with One")
    assert sent(api) == ["One"]


def test_a_chat_continues_with_the_chosen_answer(visit: Visit, api: StandInApi) -> None:
    api.answers["POST chat/completions"] = lambda call: (200, {}, chat_chunks([str(call.body["seed"])]))
    page = visit(api.url)
    page.get_by_label("Samples", exact=True).fill("2")
    page.get_by_label("Seed", exact=True).fill("7")
    say(page, "One")
    expect(page.locator(".sample .written")).to_have_text(["7", "8"])
    page.get_by_role("button", name="Continue with sample 2").click()
    say(page, "Two")
    assert sent(api) == ["One", "8", "Two"]


def test_a_message_without_an_answer_returns_to_the_input(visit: Visit, api: StandInApi) -> None:
    refusal = {"error": {"code": "invalid_parameter", "message": "messages: too long.", "field": "messages"}}
    api.answers["POST chat/completions"] = lambda _: (400, {}, refusal)
    page = visit(api.url)
    page.get_by_label("Message", exact=True).fill("One")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("too long")
    expect(page.get_by_label("Message", exact=True)).to_have_value("One")
    expect(page.locator(".turn")).to_have_count(0)


def test_an_empty_answer_is_shown_as_no_answer(visit: Visit, api: StandInApi) -> None:
    api.answers["POST chat/completions"] = lambda _: (200, {}, chat_chunks([""], end="tool_calls"))
    page = visit(api.url)
    page.get_by_label("Message", exact=True).fill("One")
    page.keyboard.press("Enter")
    expect(page.locator(".sample .text")).to_have_text("No answer.")
    expect(page.get_by_label("Message", exact=True)).to_have_value("One")


def test_a_retry_after_a_failure_sends_the_message_again(visit: Visit, api: StandInApi) -> None:
    api.answers["POST chat/completions"] = lambda _: (
        500,
        {},
        {"error": {"code": "internal_error", "message": "Sorry."}},
    )
    page = visit(api.url)
    page.get_by_label("Message", exact=True).fill("One")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("Sorry")
    api.answers["POST chat/completions"] = counting
    page.get_by_role("button", name="Retry this answer").click()
    expect(page.locator(".sample .written")).to_have_text("1 with One")
    expect(page.locator(".turn .text")).to_have_text(["One"])
    assert sent(api) == ["One"]


def test_history_keeps_a_conversation_once_and_brings_it_back(visit: Visit, api: StandInApi) -> None:
    page = visit(api.url)
    say(page, "One")
    say(page, "Two")
    page.get_by_role("button", name="New chat").click()
    expect(page.locator(".turn")).to_have_count(0)
    page.locator("#history summary").click()
    expect(page.locator("#history-list li")).to_have_count(1)
    page.locator("#history-list button").click()
    expect(page.locator(".turn .text")).to_have_text(["One", "1 with One", "Two"])
    expect(page.locator(".sample .written")).to_have_text("3 with Two")
    say(page, "Three")
    assert sent(api) == ["One", "1 with One", "Two", "3 with Two", "Three"]


def answer(visit: Visit, text: str, **options: object) -> Page:
    """Open a page with this answer, which came character by character."""
    with StandInApi({"POST chat/completions": lambda _: (200, {}, chat_chunks(text))}, **CHAT) as api:
        page = visit(api.url, **options)
        say(page, "Hello")
        return page


CODE = "Run:\n\n```python\nprint('<b>1</b>')\n```\n\nor\n\n~~~\nls\n"


def test_each_block_of_code_is_copied_by_itself(visit: Visit) -> None:
    page = answer(visit, CODE, permissions=["clipboard-read", "clipboard-write"])
    expect(page.locator(".code code")).to_have_text(["print('<b>1</b>')", "ls"])
    page.get_by_role("button", name="Copy this code").first.click()
    assert page.evaluate("navigator.clipboard.readText()") == "print('<b>1</b>')"


MARKDOWN = [
    ("# One\n### Three", "<h3>One</h3><h5>Three</h5>"),
    ("a **b** and *c* `d*e*` ~~f~~", "<p>a <strong>b</strong> and <em>c</em> <code>d*e*</code> <del>f</del></p>"),
    ("2 * 3 * 4, snake_case_name, **open", "<p>2 * 3 * 4, snake_case_name, **open</p>"),
    ("***both*** and **b *i***", "<p><strong><em>both</em></strong> and <strong>b <em>i</em></strong></p>"),
    ("- a\n  - b\n- c", "<ul><li><p>a</p><ul><li><p>b</p></li></ul></li><li><p>c</p></li></ul>"),
    ("3. a\n\n4. b", '<ol start="3"><li><p>a</p></li><li><p>b</p></li></ol>'),
    ("In\n1984. Then", "<p>In\n1984. Then</p>"),
    ("> a\n> > b", "<blockquote><p>a</p><blockquote><p>b</p></blockquote></blockquote>"),
    ("a\n\n---\nb", "<p>a</p><hr><p>b</p>"),
    (r"\*a\* \<b>", "<p>*a* &lt;b&gt;</p>"),
    (
        "| a | b |\n|---|:-:|\n| 1 | `2` |",
        '<div class="table" tabindex="0"><table><tr><th>a</th><th>b</th></tr>'
        "<tr><td>1</td><td><code>2</code></td></tr></table></div>",
    ),
    (
        "Two:\na | b\n-|-\n`1\\|2` | 3\n\nand",
        '<p>Two:</p><div class="table" tabindex="0"><table><tr><th>a</th><th>b</th></tr>'
        "<tr><td><code>1|2</code></td><td>3</td></tr></table></div><p>and</p>",
    ),
    (
        "[a](https://example.com/x_(y)) ![p](http://example.com/p.png)",
        '<p><a href="https://example.com/x_(y)" title="https://example.com/x_(y)" target="_blank" '
        'rel="noopener noreferrer">a</a> <a href="http://example.com/p.png" title="http://example.com/p.png" '
        'target="_blank" rel="noopener noreferrer">p</a></p>',
    ),
]


def test_markdown_becomes_elements_however_it_arrives(visit: Visit) -> None:
    said: list[str] = []
    with StandInApi({"POST chat/completions": lambda _: (200, {}, chat_chunks(said[-1]))}, **CHAT) as api:
        page = visit(api.url)
        for text, expected in MARKDOWN:
            said.append(text)
            say(page, text)
            expect(page.locator(".sample.done")).to_be_visible()
            assert page.locator(".sample .written").inner_html() == expected, text


HOSTILE = """<script>alert(1)</script><img src=x onerror=alert(2)>
[a](javascript:alert(3)) [b](data:text/html,<script>alert(4)</script>) [c]( https://x ) [d](vbscript:x)
![e](file:///etc/passwd) <a href="javascript:alert(5)">f</a>

```html"><img src=x onerror=alert(6)>
<iframe src="https://example.com"></iframe>
```

| <img src=x> | <b>h</b> |
|---|---|
| <script>alert(7)</script> | [g](JaVaScRiPt:alert(8)) |"""


def test_hostile_markdown_stays_text_and_loads_nothing(visit: Visit) -> None:
    page = answer(visit, HOSTILE)
    box = page.locator(".sample .written")
    assert box.locator("img, script, iframe, b, a, [onerror]").count() == 0
    for text in ("<script>alert(1)</script>", "[a](javascript:alert(3))", "<b>h</b>", "[g](JaVaScRiPt:alert(8))"):
        expect(box).to_contain_text(text)


PIECES = ["**a ", "`", "[", "> ", "- ", "*a", "*", "_", "| ", "-|", " ", "![a](", "\\", "~~~\n", "~", "1. "]


@pytest.mark.parametrize("piece", PIECES)
def test_a_long_hostile_answer_does_not_hang_the_page(visit: Visit, piece: str) -> None:
    """Work that grows with the square of the length would take many minutes."""
    text = "|\n" + piece * (150_000 // len(piece))
    with StandInApi({"POST chat/completions": lambda _: (200, {}, chat_chunks([text, "`x"]))}, **CHAT) as api:
        page = visit(api.url)
        say(page, "Hello")
        expect(page.locator(".sample.done")).to_have_count(1)
