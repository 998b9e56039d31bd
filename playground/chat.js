// The conversation: system prompt, turns, and the message that is being written.
import { at, copyButton, make, makeButton } from "./page.js";
import { clearAnswers, takenAnswer } from "./answers.js";
import { render } from "./markdown.js";

export const ROLES = ["system", "user", "assistant"];
const NAMES = { system: "System", user: "You", assistant: "Model" };

let turns = [], ask, isLocked;

/** again: asks for an answer to the turns as they are. locked: whether a run goes on, in which no turn changes. */
export function listenToTurns(again, locked) {
  [ask, isLocked] = [again, locked];
}

/** The system prompt and the turns. */
export function conversation() {
  return [...said("system", at("system").value.trim() && at("system").value), ...turns];
}

/** The messages of the next call, the answer that it goes on with and the draft included. */
export function messages() {
  const draft = at("message").value;
  if (!draft) return turns.length ? conversation() : [...conversation(), { role: "user", content: "" }];
  return [...conversation(), ...said("assistant", takenAnswer()), ...said("user", draft)];
}

function said(role, content) {
  return content ? [{ role, content }] : [];
}

/** Show other messages. A last one of the user becomes the draft, unless it is answered. */
export function setMessages(given, isAnswered) {
  const [first, last] = [given[0], given.at(-1)], isDraft = !isAnswered && last?.role === "user";
  at("system").value = first?.role === "system" ? first.content : "";
  at("system-box").open = Boolean(at("system").value);
  at("message").value = isDraft ? last.content : "";
  turns = given.slice(first?.role === "system" ? 1 : 0, isDraft ? -1 : undefined);
  showTurns();
}

/** Whether the last turn is the user's, and has yet to be answered. */
export function isAsked() {
  return turns.at(-1)?.role === "user";
}

/** The answer and the draft become turns. Returns what is missing, "" = nothing. */
export function takeTurn() {
  const draft = at("message").value;
  if (!draft.trim() && !isAsked()) return "Write a message.";
  if (draft.trim()) turns.push(...said("assistant", takenAnswer()), ...said("user", draft));
  at("message").value = "";
  showTurns();
  return "";
}

/** A message without any answer goes back to where it was written. */
export function giveBack() {
  if (!isAsked()) return;
  at("message").value = [turns.pop().content, at("message").value].filter(Boolean).join("\n\n");
  showTurns();
}

/** Keep the answer as a turn, as another kind of prompt takes its place. */
export function keepAnswer() {
  turns.push(...said("assistant", takenAnswer()));
  showTurns();
}

export function hasTurns() {
  return turns.length > 0;
}

function showTurns() {
  at("turns").replaceChildren(...turns.map(turnOf));
}

function turnOf({ role, content }, index) {
  const made = make("li", `turn ${role}`), head = make("div", "head"), body = make("div", "text"), number = index + 1;
  head.append(make("b", "", NAMES[role]), make("span", "grow"));
  if (role === "assistant") {
    body.classList.add("markdown");
    render(body, content);
    head.append(makeButton("Retry", `Retry message ${number}`, () => askFrom(index)));
  } else body.append(make("p", "", content));
  head.append(makeButton("Edit", `Edit message ${number}`, () => edit(made, index)));
  head.append(copyButton(`Copy message ${number}`, () => content));
  made.append(head, body);
  return made;
}

/** Leave out the turns from one on, and ask again. */
function askFrom(index) {
  if (isLocked()) return;
  turns.length = index;
  showTurns();
  ask();
}

/** Another text for a turn: after one of the user the model is asked again, one of the model is only changed. */
function edit(row, index) {
  const area = make("textarea"), actions = make("div", "actions"), { role, content } = turns[index];
  area.value = content;
  area.rows = Math.min(12, content.split("\n").length + 1);
  area.setAttribute("aria-label", `Message ${index + 1}`);
  const save = () => {
    if (!area.value.trim() || isLocked()) return area.focus();
    turns[index] = { role, content: area.value };
    return role === "user" ? askFrom(index + 1) : showTurns();
  };
  actions.append(
    makeButton(role === "user" ? "Send again" : "Save", "", save), makeButton("Leave as it was", "", showTurns),
  );
  row.lastElementChild.replaceChildren(area, actions);
  area.focus();
}

/** Begin anew, with the system prompt as it is. */
export function forgetTurns() {
  turns = [];
  showTurns();
  clearAnswers("chat", true);
}
