// The set-up: the values of the controls, whether they can be sent, and the same call in code.
import { at, mark } from "./page.js";
import { clearAnswers } from "./answers.js";
import { config, page } from "./deployment.js";
import { ROLES, hasTurns, keepAnswer, messages, setMessages } from "./chat.js";
import { onlyPictures } from "./images.js";
import { draw } from "./picture.js";
import { hideError, showPhase } from "./progress.js";
import { engineNames, engineProblem, isOneRequest, promptKey, requestsOf } from "./requests.js";
import { snippets } from "./snippets.js";

const NUMBERS = ["samples", "length", "temperature", "top_k", "top_p", "seed"];
const KINDS = ["text", "chat"];
const LENGTHS = { text: 80, chat: 512 }, LONGEST_BY_SLIDER = { text: 512, chat: 4096 };

let shownKind = null;

export function kinds() {
  return KINDS.filter((kind) => config.bodies.includes(promptKey(kind, config)));
}

export function kind() {
  return document.querySelector("[name=kind]:checked").value;
}

function choose(chosen) {
  document.querySelector(`[name=kind][value=${chosen}]`).checked = true;
}

function mostTokens(of) {
  return config.parameters[engineNames(of, config).length]?.maximum ?? Infinity;
}

function usualLength(of) {
  return String(Math.min(LENGTHS[of], mostTokens(of)));
}

/** Put a set-up into the controls; a missing or invalid value leaves the initial one. */
export function apply(given, isAnswered = false) {
  const usual = config.chat_template ? "chat" : "text", possible = kinds();
  const chosen = [given.kind, usual, possible[0]].find((each) => possible.includes(each));
  choose(chosen);
  shownKind = chosen;
  at("prompt").value = typeof given.prompt === "string" ? given.prompt : "";
  const isMessage = (each) => ROLES.includes(each?.role) && typeof each.content === "string";
  const turn = ({ role, content, images }) => ({ role, content, ...(images && { images: onlyPictures(images) }) });
  setMessages(Array.isArray(given.messages) ? given.messages.filter(isMessage).map(turn) : [], isAnswered);
  clearAnswers(chosen, chosen === "text" || !hasTurns());
  const initial = (name) => (name === "length" ? usualLength(chosen) : at(name).defaultValue);
  for (const name of NUMBERS) at(name).value = String(name in given ? given[name] ?? "" : initial(name)).slice(0, 20);
  changed();
}

/** The current set-up; an invalid number is NaN. */
export function current() {
  const numbers = NUMBERS.map((name) => [name, at(name).value.trim() === "" ? null : Number(at(name).value)]);
  const words = kind() === "chat" ? { messages: messages() } : { prompt: at("prompt").value };
  return { kind: kind(), ...words, ...Object.fromEntries(numbers) };
}

/** The largest number that a control takes: the engine's limit, or the page's if the engine has none. */
function mostOf(name) {
  const most = name === "samples" && isOneRequest(kind(), config) ? 16 : Number(at(name).dataset.max);
  return Math.max(most, config.parameters[engineNames(kind(), config)[name]]?.maximum ?? 0);
}

function problemOf(name) {
  const input = at(name), { min, whole, optional } = input.dataset, most = mostOf(name), value = Number(input.value);
  if (input.value.trim() === "") return optional === undefined ? "Give a number." : "";
  if (/^\d+,\d+$/.test(input.value.trim())) return `Write ${input.value.trim().replace(",", ".")}, with a point.`;
  if (!Number.isFinite(value)) return "Not a number.";
  if (whole !== undefined && !Number.isInteger(value)) return "Give a whole number.";
  if (value < Number(min) || value > most) return `Give a number from ${min} to ${most}.`;
  return engineProblem(name, value, kind(), config);
}

/** The prompt's control, and its explanation. */
export function promptControls() {
  return kind() === "chat" ? [at("message"), at("message-hint")] : [at("prompt"), at("prompt-hint")];
}

/** After every change: validate, draw, keep slider and code in step. Returns the first control with a problem. */
export function changed() {
  if (kind() !== shownKind) changeKind(shownKind, kind());
  showKind(kind());
  const wrong = NUMBERS.filter((name) => {
    const problem = problemOf(name), slider = at(name).parentElement.querySelector("[type=range]");
    mark(at(name), at(`${name}-hint`), problem);
    if (slider && name === "samples") slider.max = String(mostOf(name));
    if (slider && name === "length") slider.max = String(Math.min(LONGEST_BY_SLIDER[kind()], mostTokens(kind())));
    if (slider && !problem) slider.value = at(name).value;
    return problem;
  });
  const [input, hint] = promptControls();
  if (input.value) mark(input, hint, "");
  if (!["temperature", "top_k", "top_p"].some((name) => wrong.includes(name))) {
    draw(at("picture"), at("picture-caption"), current());
  }
  if (!wrong.length) showCode();
  else at("code-hint").textContent = "A number above is wrong, so this is still the last valid call.";
  return wrong.length ? at(wrong[0]) : null;
}

/** Keep what was written for the other kind of prompt; a length that nobody set becomes the usual one. */
function changeKind(before, chosen) {
  if (before === "chat") keepAnswer();
  clearAnswers(chosen, chosen === "text" || !hasTurns());
  if (at("length").value === usualLength(before)) at("length").value = usualLength(chosen);
  shownKind = chosen;
  showPhase("Nothing asked yet.");
  hideError();
}

/** Place the input: a text above its answers, a message below the conversation. */
function showKind(chosen) {
  const isChat = chosen === "chat";
  at("text-prompt").hidden = isChat;
  at("add-image").hidden = !isChat || !config.images;
  for (const id of ["chat-prompt", "system-box", "turns"]) at(id).hidden = !isChat;
  at("generate").textContent = isChat ? "Send" : "Generate";
  at("reset").textContent = isChat ? "New chat" : "Reset";
  at("answers-title").textContent = isChat ? "Conversation" : "Answers";
  const [first, second] = isChat ? ["outcome", "ask"] : ["ask", "outcome"];
  if (at(first).compareDocumentPosition(at(second)) & Node.DOCUMENT_POSITION_PRECEDING) at(second).before(at(first));
}

function showCode() {
  const [request] = requestsOf(current(), config), texts = snippets(request, kind(), config, page);
  for (const name of ["curl", "python", "boto3"]) at(`tab-${name}`).hidden = !texts[name];
  const chosen = Object.keys(texts).find((name) => at(`tab-${name}`).getAttribute("aria-selected") === "true");
  at("snippet").firstElementChild.textContent = texts[chosen];
  const more = current().samples > 1 && !isOneRequest(kind(), config) ? "One call per sample. " : "";
  const later = config.jobs && !request.streamed ? "An answer that takes longer is fetched with GET jobs/<id>." : "";
  const secret = config.signed_by_proxy ? " The URL holds your token: others on this machine can read a command line." : "";
  at("code-hint").textContent = more + later + secret || "\u00a0";
}

export function chooseTab(tab) {
  for (const each of at("tabs").querySelectorAll("[role=tab]")) {
    each.setAttribute("aria-selected", String(each === tab));
    each.tabIndex = each === tab ? 0 : -1;
  }
  at("snippet").setAttribute("aria-labelledby", tab.id);
  tab.focus();
  changed();
}

// --- Links hold the set-up in the URL's fragment, but never the key

export function toFragment(setup) {
  return `#${encodeURIComponent(JSON.stringify(setup, (name, value) => (name === "images" ? undefined : value)))}`;
}

export function fromFragment() {
  try {
    const given = JSON.parse(decodeURIComponent(location.hash.slice(1)));
    return typeof given === "object" ? given : null;
  } catch {
    return null;
  }
}
