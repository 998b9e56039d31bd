// The conversation: system prompt, turns, and the message that is being written.
import { at, copyButton, make, makeButton } from "./page.js";
import { clearAnswers, takenAnswer } from "./answers.js";
import { drafted, setDrafted, thumbnails } from "./images.js";
import { render } from "./markdown.js";

export const ROLES = ["system", "user", "assistant"];
const NAMES = { system: "System", user: "You", assistant: "Model" };

let turns = [], ask, isLocked;

/** again: asks for another answer to the same turns. locked: whether a run is in progress, in which no turn changes. */
export function listenToTurns(again, locked) {
  [ask, isLocked] = [again, locked];
}

/** The system prompt and the turns. */
export function conversation() {
  return [...said("system", at("system").value.trim() && at("system").value), ...turns];
}

/** The messages of the next call, with the chosen answer and the draft. */
export function messages() {
  const draft = at("message").value;
  if (!draft && !drafted().length) return turns.length ? conversation() : [...conversation(), { role: "user", content: "" }];
  return [...conversation(), ...said("assistant", takenAnswer()), ...said("user", draft, drafted())];
}

function said(role, content, images = []) {
  return content || images.length ? [{ role, content, ...(images.length && { images }) }] : [];
}

/** Show other messages. A last message of the user without an answer becomes the draft. */
export function setMessages(given, isAnswered) {
  const [first, last] = [given[0], given.at(-1)], isDraft = !isAnswered && last?.role === "user";
  at("system").value = first?.role === "system" ? first.content : "";
  at("system-box").open = Boolean(at("system").value);
  at("message").value = isDraft ? last.content : "";
  setDrafted(isDraft ? last.images ?? [] : []);
  turns = given.slice(first?.role === "system" ? 1 : 0, isDraft ? -1 : undefined);
  showTurns();
}

/** Whether the last turn is the user's and has no answer yet. */
export function isAsked() {
  return turns.at(-1)?.role === "user";
}

/** Append the answer and the draft as turns. Returns what is missing; "" if nothing is. */
export function takeTurn() {
  const draft = at("message").value, isEmpty = !draft.trim() && !drafted().length;
  if (isEmpty && !isAsked()) return "Write a message.";
  if (!isEmpty) turns.push(...said("assistant", takenAnswer()), ...said("user", draft, drafted()));
  at("message").value = "";
  setDrafted([]);
  showTurns();
  return "";
}

/** Put a message without an answer back into the input. */
export function giveBack() {
  if (!isAsked()) return;
  const { content, images = [] } = turns.pop();
  at("message").value = [content, at("message").value].filter(Boolean).join("\n\n");
  setDrafted([...images, ...drafted()]);
  showTurns();
}

/** Keep the answer as a turn before another kind of prompt replaces it. */
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

function turnOf({ role, content, images = [] }, index) {
  const made = make("li", `turn ${role}`), head = make("div", "head"), body = make("div", "text"), number = index + 1;
  head.append(make("b", "", NAMES[role]), make("span", "grow"));
  if (role === "assistant") {
    body.classList.add("markdown");
    render(body, content);
    head.append(makeButton("Retry", `Retry message ${number}`, () => askFrom(index)));
  } else body.append(thumbnails(images), make("p", "", content));
  head.append(makeButton("Edit", `Edit message ${number}`, () => edit(made, index)));
  head.append(copyButton(`Copy message ${number}`, () => content));
  made.append(head, body);
  return made;
}

/** Remove a turn and all after it, and ask again. */
function askFrom(index) {
  if (isLocked()) return;
  turns.length = index;
  showTurns();
  ask();
}

/** Change the text of a turn. After a user's turn the model is asked again. */
function edit(row, index) {
  const area = make("textarea"), actions = make("div", "actions"), { role, content } = turns[index];
  area.value = content;
  area.rows = Math.min(12, content.split("\n").length + 1);
  area.setAttribute("aria-label", `Message ${index + 1}`);
  const save = () => {
    if (!area.value.trim() || isLocked()) return area.focus();
    turns[index] = { ...turns[index], content: area.value };
    return role === "user" ? askFrom(index + 1) : showTurns();
  };
  actions.append(
    makeButton(role === "user" ? "Send again" : "Save", "", save), makeButton("Leave as it was", "", showTurns),
  );
  row.lastElementChild.replaceChildren(area, actions);
  area.focus();
}

/** Begin a new chat with the same system prompt. */
export function forgetTurns() {
  turns = [];
  showTurns();
  clearAnswers("chat", true);
}
