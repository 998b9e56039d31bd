// Earlier runs, in this browser only.
import { at, make } from "./page.js";
import { showAnswers } from "./answers.js";
import { apply } from "./controls.js";
import { own, store, stored } from "./deployment.js";
import { hideError, showPhase } from "./progress.js";

const HISTORY = "slipway-history", MOST_KEPT = 20, MOST_KEPT_CHARACTERS = 20_000;

function kept() {
  const found = stored(localStorage, HISTORY);
  return Array.isArray(found) ? found.filter((each) => each?.setup && Array.isArray(each.texts)) : [];
}

export function remember(entry) {
  let isCut = false;
  const shortened = JSON.parse(JSON.stringify(entry), (name, value) => {
    if (name === "images") return undefined;  // a few pictures fill the store
    if (typeof value !== "string" || value.length <= MOST_KEPT_CHARACTERS) return value;
    isCut = true;
    return value.slice(0, MOST_KEPT_CHARACTERS);
  });
  const [last, ...others] = kept(), earlier = last && goesOn(entry, last) ? others : kept();
  const entries = [{ ...shortened, isCut, at: new Date().toISOString() }, ...earlier].slice(0, MOST_KEPT);
  while (entries.length && !store(localStorage, HISTORY, entries)) entries.pop();  // the store is full: drop the oldest
  showHistory();
}

/** Whether an entry holds the whole conversation of another one, so that a chat is kept only once. */
function goesOn({ setup }, before) {
  const messages = before.setup.messages ?? [];
  return setup.kind === "chat" && messages.length > 0 && messages.length < setup.messages.length
    && JSON.stringify(messages) === JSON.stringify(setup.messages.slice(0, messages.length));
}

export function clearHistory() {
  localStorage.removeItem(own(HISTORY));
  showHistory();
}

export function showHistory() {
  const entries = kept();
  at("history-count").textContent = entries.length ? `(${entries.length})` : "";
  at("clear-history").disabled = !entries.length;
  at("history-list").replaceChildren(...entries.map((entry) => {
    const item = make("li"), button = make("button", "past");
    const words = entry.setup.prompt ?? entry.setup.messages?.at(-1)?.content ?? "";
    button.type = "button";
    button.append(make("span", "prompt", String(words).slice(0, 80)), make("span", "written", String(entry.texts[0]).slice(0, 80)));
    button.addEventListener("click", () => bringBack(entry));
    item.append(button);
    return item;
  }));
}

function bringBack(entry) {
  apply(entry.setup, true);
  const texts = entry.texts.map(String), seeds = texts.map(() => null);
  showAnswers(entry.setup, [{ state: "done", isCut: entry.isCut, texts, seeds, thought: "" }]);
  const cut = entry.isCut ? "; only the beginning of its long texts was kept" : "";
  showPhase(`Asked ${new Date(entry.at).toLocaleString()}${cut}`);
  hideError();
}
