// The answers of the last run, side by side.
import { at, copyButton, make, makeButton } from "./page.js";
import { render } from "./markdown.js";

const EXAMPLES = {
  text: [
    "Once upon a time, in a harbour at the edge of the map,",
    "Three things that every new engineer should know are",
    "Dear neighbour, about the noise last night:",
  ],
  chat: [
    "Explain what a load balancer does, as to a friend.",
    "Write a Python function that finds the two largest numbers of a list.",
    "Compare three ways to store passwords, in a table.",
  ],
};
const WAITING = { queued: "Waiting \u2026", running: "Running \u2026", cancelled: "Stopped." };

let shown = { setup: null, cards: [] }, taken = 0, onGoOn;

/** goOn: is called with the set-up and the text that the reader wants to continue. */
export function listenToAnswers(goOn) {
  onGoOn = goOn;
}

/** The answer with which a chat continues; "" if there is none. */
export function takenAnswer() {
  const texts = shown.setup?.kind === "chat" ? shown.cards.map(({ part, index }) => part.texts[index] ?? "") : [];
  return texts[taken] || texts.find(Boolean) || "";
}

/** The cards of a part, one for each sample. A part is one request with its texts so far. */
function cardsOf(part) {
  return part.seeds.map((seed, index) => ({ part, seed, index }));
}

export function showAnswers(setup, parts) {
  shown = { setup, cards: parts.flatMap(cardsOf) };
  taken = 0;
  at("samples-list").classList.toggle("several", shown.cards.length > 1);
  at("samples-list").replaceChildren(...shown.cards.map(cardOf));
}

/** Remove the answers; a text, and a chat without answers, get examples instead. */
export function clearAnswers(kind, hasExamples) {
  showAnswers(null, []);
  if (!hasExamples) return;
  const empty = make("li", "empty");
  const words = kind === "chat" ? "Write a message, then Enter." : "Write a prompt, turn the controls, press Generate.";
  empty.append(make("p", "", `${words} Or begin with one of these:`), ...EXAMPLES[kind].map((each) => {
    const example = make("button", "example", each);
    example.type = "button";
    return example;
  }));
  at("samples-list").append(empty);
}

/** Replace the cards of a part; other cards keep focus and selection. */
export function showPart(part) {
  shown.cards.forEach((card, index) => {
    if (card.part === part) at("samples-list").children[index].replaceWith(cardOf(card, index));
  });
  followEnd();
}

const grown = new Set();  // parts with text that is not on the page yet

/** Show a part's text soon, not at once: a fast model writes more often than a reader sees. */
export function showText(part) {
  if (!grown.size) setTimeout(showGrown, 40);
  grown.add(part);
}

function showGrown() {
  shown.cards.forEach((card, index) => {
    if (grown.has(card.part)) fill(at("samples-list").children[index].lastElementChild, card);
  });
  grown.clear();
  followEnd();
}

let follows = true;  // scroll with a growing answer, until the reader scrolls up

export function listenToScrolling() {
  const box = at("outcome");
  box.addEventListener("scroll", () => { follows = box.scrollTop + box.clientHeight > box.scrollHeight - 40; });
}

export function followEnd(anew = false) {
  follows ||= anew;
  if (anew || (follows && shown.cards.length < 2)) at("outcome").scrollTop = at("outcome").scrollHeight;
}

function cardOf(card, position) {
  const { part, seed, index } = card, { setup } = shown, number = position + 1, isChat = setup.kind === "chat";
  const made = make("li", `sample ${part.state}`), head = make("div", "head"), body = make("div", "text");
  const name = isChat && shown.cards.length === 1 ? "Model" : `Sample ${number}`, text = () => part.texts[index];
  head.append(make("b", "", name), make("span", "", seed === null ? "" : `seed ${seed}`), make("span", "grow"));
  made.append(head, body);
  fill(body, card);
  if (["queued", "running"].includes(part.state)) return made;
  if (isChat) head.append(makeButton("Retry", "Retry this answer", () => onGoOn("retry")));
  if (!text() || part.isCut) return made;
  if (!isChat) head.append(makeButton("Continue", `Continue with sample ${number}`, () => onGoOn("text", setup, text())));
  else if (shown.cards.length > 1) head.append(makeButton("Continue", `Continue with sample ${number}`, () => take(position)));
  head.append(copyButton(`Copy sample ${number}`, text));
  if (isChat && shown.cards.length > 1) made.classList.toggle("taken", position === taken);
  return made;
}

/** Take an answer as the one with which the chat continues. */
function take(position) {
  taken = position;
  [...at("samples-list").children].forEach((each, index) => each.classList.toggle("taken", index === taken));
  at("message").focus();
}

/** Fill a sample's card, with as few changes as a growing text needs. */
function fill(body, { part, index }) {
  const { setup } = shown, text = part.texts[index], link = part.link && /^https?:/.test(part.link) && part.link;
  if (link) {
    const download = make("a", "", "The answer is large: download it (5 minutes)");
    download.href = link;
    download.rel = "noreferrer";
    return body.replaceChildren(download);
  }
  if (!text && !part.thought) {
    return body.replaceChildren(WAITING[part.state] ?? "No answer.");
  }
  const isChat = setup.kind === "chat";
  if (!body.querySelector(".written")) body.replaceChildren(...emptyBody(setup, isChat));
  const words = body.querySelector(".written");
  if (part.thought) showThought(body, part.thought, !text);
  if (isChat) render(words, text ?? "");
  else words.textContent = text.startsWith(setup.prompt) ? text.slice(setup.prompt.length) : text;
  if (part.end === "length" && !body.querySelector(".facts")) {
    body.append(make("p", "facts", "Cut off here: the length is reached."));
  }
  return undefined;
}

function emptyBody({ prompt }, isChat) {
  return isChat ? [make("div", "written markdown")] : [make("span", "prompt", prompt), make("span", "written")];
}

/** Show the model's thinking, open until it answers. */
function showThought(body, thought, isOpen) {
  let box = body.querySelector(".thought");
  if (!box) {
    box = make("details", "thought");
    box.append(make("summary", "", "Thoughts"), document.createTextNode(""));
    body.prepend(box);
  }
  if (box.lastChild.data !== thought) box.lastChild.data = thought;
  if (box.dataset.isOpen !== String(isOpen)) box.open = isOpen;  // only on a change, as the reader may open it again
  box.dataset.isOpen = String(isOpen);
}
