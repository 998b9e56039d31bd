// The page: controls, runs, progress, answers, history. What a model wrote becomes text nodes only.
import { draw } from "./picture.js";
import {
  ApiError, call, controlOf, engineProblem, isOneRequest, promptKey, requestsOf, snippets, textsOf,
} from "./requests.js";

const NUMBERS = ["samples", "length", "temperature", "top_k", "top_p", "seed"];
const ROLES = ["system", "user", "assistant"];
const KEY = "slipway-api-key", HISTORY = "slipway-history", MOST_KEPT = 20, MOST_KEPT_CHARACTERS = 20_000;
const SHORT_WAIT = 5;  // seconds that one poll is held: the page learns of a machine that starts in between
const MOST_RETRIES = 40, LONGEST_PAUSE = 60;
const PERMANENT = ["quota_exceeded", "daily_tokens_exceeded"];  // 429s that no short pause mends
const OPEN = ["queued", "running"];
const NOT_YET = ["Starting", "Stopped", "Stopping", "Creating"];  // of an endpoint that will serve, but does not now

const at = (id) => document.getElementById(id);
const page = new URL(".", location.href).href;
let config, run = null;

start();

async function start() {
  try {
    config = (await call("GET", "playground/config.json")).content;
  } catch (error) {
    at("about").textContent = error.message;
    return;
  }
  at("model").textContent = config.model_id;
  document.title = `${config.model_id} · Slipway playground`;
  at("about").textContent = [config.engine, config.mode, config.deployment].filter(Boolean).join(" · ");
  const needsKey = config.auth === "api-key" && !config.signed_by_proxy;
  at("sign-in").hidden = !needsKey;
  at("unsigned").hidden = !isUnsigned();
  at("command").textContent = `python -m slipway playground ${config.deployment ?? "<name>"}`;
  at("generate").disabled = isUnsigned();
  at("key").value = sessionStorage.getItem(KEY) ?? "";
  const kinds = ["text", "chat"].filter((kind) => config.bodies.includes(promptKey(kind, config)));
  at("kinds").hidden = kinds.length < 2;
  document.querySelector(`[name=kind][value=${kinds[0]}]`).checked = true;
  document.querySelector("[data-step=starting]").hidden = config.mode !== "ec2";
  listen();
  apply(fromFragment() ?? {});
  showHistory();
  delete document.body.dataset.loading;
  if (!isUnsigned() && (!needsKey || at("key").value)) showEndpoint();
}

function isUnsigned() {
  return config.auth === "iam" && !config.signed_by_proxy;
}

// --- The set-up

function kind() {
  const chosen = document.querySelector("[name=kind]:checked").value;
  return config.bodies.includes(promptKey(chosen, config)) ? chosen : "text";
}

function initial() {
  const values = Object.fromEntries(NUMBERS.map((name) => [name, at(name).defaultValue]));
  return { kind: null, prompt: "", messages: [{ role: "user", content: "" }], ...values };
}

/** Put a set-up into the controls; names that are missing, or not what they should be, keep their initial value. */
function apply(given) {
  const setup = { ...initial(), ...given };
  if (["text", "chat"].includes(setup.kind) && config.bodies.includes(promptKey(setup.kind, config))) {
    document.querySelector(`[name=kind][value=${setup.kind}]`).checked = true;
  }
  at("prompt").value = typeof setup.prompt === "string" ? setup.prompt : "";
  const isMessage = (each) => ROLES.includes(each?.role) && typeof each.content === "string";
  const messages = Array.isArray(setup.messages) ? setup.messages.filter(isMessage) : [];
  at("messages").replaceChildren();
  for (const message of messages.length ? messages : initial().messages) addMessage(message);
  for (const name of NUMBERS) at(name).value = String(setup[name] ?? "").slice(0, 20);
  changed();
}

/** The set-up as it stands; numbers that are none are NaN. */
function current() {
  const numbers = NUMBERS.map((name) => [name, at(name).value.trim() === "" ? null : Number(at(name).value)]);
  const chosen = kind();
  const words = chosen === "chat" ? { messages: messages() } : { prompt: at("prompt").value };
  return { kind: chosen, ...words, ...Object.fromEntries(numbers) };
}

function messages() {
  return [...at("messages").children].map((row) => ({
    role: row.querySelector("select").value, content: row.querySelector("textarea").value,
  }));
}

function addMessage({ role, content }) {
  const row = make("li", "message"), number = () => [...at("messages").children].indexOf(row) + 1;
  const select = make("select"), area = make("textarea"), remove = make("button", "", "Remove");
  select.append(...ROLES.map((each) => new Option(each, each, false, each === role)));
  area.rows = 2;
  area.value = content;
  area.setAttribute("aria-describedby", "messages-hint");
  remove.type = "button";
  remove.addEventListener("click", () => {
    row.remove();
    if (!at("messages").children.length) addMessage({ role: "user", content: "" });
    changed();
    at("add-message").focus();
  });
  row.append(select, remove, area);
  at("messages").append(row);
  select.setAttribute("aria-label", `Role of message ${number()}`);
  area.setAttribute("aria-label", `Message ${number()}`);
  remove.setAttribute("aria-label", `Remove message ${number()}`);
  return area;
}

function problemOf(name) {
  const input = at(name), { min, max, whole, optional } = input.dataset;
  const most = name === "samples" && isOneRequest(kind(), config) ? 16 : Number(max), value = Number(input.value);
  if (input.value.trim() === "") return optional === undefined ? "Give a number." : "";
  if (!Number.isFinite(value)) return "Not a number.";
  if (whole !== undefined && !Number.isInteger(value)) return "Give a whole number.";
  if (value < Number(min) || value > most) return `Give a number from ${min} to ${most}.`;
  return engineProblem(name, value, kind(), config);
}

function promptProblem() {
  if (kind() === "chat") return messages().some((each) => !each.content) ? "A message is empty: write it or remove it." : "";
  return at("prompt").value ? "" : "Write a prompt.";
}

/** The prompt's control, of a chat the first message that is empty or else the last, and its explanation. */
function promptControls() {
  if (kind() === "text") return [at("prompt"), at("prompt-hint")];
  const areas = [...at("messages").querySelectorAll("textarea")];
  return [areas.find((each) => !each.value) ?? areas.at(-1), at("messages-hint")];
}

/** Show the problem of a control, or its explanation. */
function mark(input, hint, problem) {
  hint.dataset.hint ??= hint.textContent;
  hint.textContent = problem || hint.dataset.hint;
  hint.classList.toggle("wrong", Boolean(problem));
  input.setAttribute("aria-invalid", String(Boolean(problem)));
}

/** After every change: validate, draw, keep slider and code in step. Returns the first control with a problem. */
function changed() {
  const isChat = kind() === "chat";
  at("text-prompt").hidden = isChat;
  at("chat-prompt").hidden = !isChat;
  const wrong = NUMBERS.filter((name) => {
    const problem = problemOf(name), slider = at(name).parentElement.querySelector("[type=range]");
    mark(at(name), at(`${name}-hint`), problem);
    if (slider && !problem) slider.value = at(name).value;
    return problem;
  });
  for (const input of [at("prompt"), ...at("messages").querySelectorAll("textarea")]) {
    if (input.value) mark(input, at(isChat ? "messages-hint" : "prompt-hint"), "");
  }
  if (!["temperature", "top_k", "top_p"].some((name) => wrong.includes(name))) {
    draw(at("picture"), at("picture-caption"), current());
  }
  if (!wrong.length) showCode();
  return wrong.length ? at(wrong[0]) : null;
}

function showCode() {
  const [{ body }] = requestsOf(current(), config), texts = snippets(body, config, page);
  const names = ["curl", "python", "boto3"];
  for (const name of names) at(`tab-${name}`).hidden = !texts[name];
  const chosen = names.find((name) => at(`tab-${name}`).getAttribute("aria-selected") === "true");
  at("snippet").firstElementChild.textContent = texts[chosen];
  const more = current().samples > 1 && !isOneRequest(kind(), config) ? "One call per sample. " : "";
  const later = config.jobs ? "An answer that takes longer is fetched with GET jobs/<id>." : "";
  at("code-hint").textContent = more + later || "\u00a0";
}

function choose(tab) {
  for (const each of at("tabs").querySelectorAll("[role=tab]")) {
    each.setAttribute("aria-selected", String(each === tab));
    each.tabIndex = each === tab ? 0 : -1;
  }
  at("snippet").setAttribute("aria-labelledby", tab.id);
  tab.focus();
  changed();
}

// --- Links: the set-up, never the key, in the URL's fragment

function toFragment(setup) {
  return `#${encodeURIComponent(JSON.stringify(setup))}`;
}

function fromFragment() {
  try {
    const given = JSON.parse(decodeURIComponent(location.hash.slice(1)));
    return typeof given === "object" ? given : null;
  } catch {
    return null;
  }
}

// --- A run

async function generate() {
  const wrong = changed(), missing = promptProblem();
  if (missing) {
    const [area, hint] = promptControls();
    mark(area, hint, missing);
    return area.focus();
  }
  if (wrong) return wrong.focus();
  const key = at("key").value.trim();
  if (!at("sign-in").hidden && !key) {
    mark(at("key"), at("key-hint"), "Give the API’s key: its operator reads it with the AWS CLI or console.");
    return at("key").focus();
  }
  const setup = current(), stop = new AbortController();
  run = { setup, key, stop, began: performance.now(), endpoint: null, isCancelled: false, waits: "", wakings: 0, parts: [] };
  run.parts = requestsOf(setup, config).map(({ body, seeds }) => ({ body, seeds, state: "queued", texts: [] }));
  at("error").hidden = true;
  setBusy(true);
  if (matchMedia("(max-width: 959px)").matches) at("answers-title").scrollIntoView();
  showTexts(setup, run.parts.flatMap(cardsOf));
  const tick = setInterval(showProgress, 250);
  showProgress();
  watchEndpoint(run);
  await Promise.all(run.parts.map((part) => answer(part, run)));
  await run.cancelling;
  clearInterval(tick);
  run.isOver = true;
  run.took = (performance.now() - run.began) / 1000;
  showProgress();
  setBusy(false);
  const texts = run.parts.flatMap((part) => part.texts);
  if (texts.length) remember({ setup, texts, seconds: run.took });
}

/** Bring one request to its end; its outcome stands in `part`. */
async function answer(part, run) {
  const { key, stop: { signal } } = run;
  try {
    if (config.jobs) await answerByJob(part, run);
    else {
      turn(part, "running");
      const { content } = await patiently(() => call("POST", "generate", { body: part.body, key, signal }), run);
      finish(part, content);
    }
  } catch (error) {
    turn(part, run.isCancelled ? "cancelled" : "failed");
    if (!run.isCancelled) showError(error, part);
  }
}

async function answerByJob(part, run) {
  const { key, wakings } = run, headers = { "idempotency-key": crypto.randomUUID() };
  // Not ended by the signal: the job of a request that is cut off would go on without a name.
  const accepted = await patiently(() => call("POST", "jobs", { body: part.body, key, headers }), run);
  let job = accepted.content, pause = wakings === run.wakings ? accepted.retryAfter : 0;  // the machine came meanwhile
  part.job = job.id;
  if (run.isCancelled) return cancelJob(part, run);
  while (OPEN.includes(job.status)) {
    turn(part, job.status);
    if (pause) await nap(pause, run);
    if (run.isCancelled) throw new Error();
    const wait = Math.min(SHORT_WAIT, config.longest_wait_in_seconds);
    const { signal } = run.stop;
    const found = await patiently(() => call("GET", `jobs/${job.id}?wait=${wait}`, { key, signal }), run);
    job = found.content;
    pause = found.retryAfter;
  }
  if (job.status === "succeeded") return finish(part, job.output, job.output_url);
  throw new ApiError(200, { error: { code: job.status, message: `The job is ${job.status}.`, ...job.error } });
}

function finish(part, output, link) {
  part.link = link;
  part.texts = link ? [""] : textsOf(output);
  turn(part, "done");
}

/** A part's new state, shown in its own cards only: the others keep focus and selection. */
function turn(part, state) {
  part.state = state;
  showProgress();
  run.parts.flatMap(cardsOf).forEach((card, index) => {
    const shown = at("samples-list").children[index];
    if (card.part === part && !shown.classList.contains(state)) shown.replaceWith(cardOf(run.setup, card, index + 1));
  });
}

/** Send again what the API asks to send again, when it says so. */
async function patiently(send, run) {
  for (let attempt = 0; ; attempt += 1) {
    try {
      const found = await send();
      run.waits = "";
      return found;
    } catch (error) {
      const passes = [429, 503].includes(error.status) && !PERMANENT.includes(error.code);
      if (!passes || run.isCancelled || attempt >= MOST_RETRIES || error.retryAfter > LONGEST_PAUSE) throw error;
      run.waits = error.message;
      showProgress();
      await nap(error.retryAfter || 1, run);
    }
  }
}

/** Wait; a cancel or an endpoint that comes into service ends it early. */
function nap(seconds, run) {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      run.wake?.delete(end);
      resolve();
    };
    const timer = setTimeout(end, 1000 * seconds);
    (run.wake ??= new Set()).add(end);
    if (run.isCancelled) end();
  });
}

function wakeAll(run) {
  run.wakings += 1;
  for (const end of [...(run.wake ?? [])]) end();
}

function cancel() {
  if (!run || run.isCancelled) return;
  run.isCancelled = true;
  const open = run.parts.filter((part) => part.job && OPEN.includes(part.state));
  run.cancelling = Promise.all(open.map((part) => cancelJob(part, run)));
  run.stop.abort();
  wakeAll(run);
  showProgress();
}

async function cancelJob(part, run) {
  turn(part, "cancelled");
  try {
    await call("DELETE", `jobs/${part.job}`, { key: run.key });
  } catch (error) {
    if (error.status !== 409) showError(error);  // 409: it had ended before
  }
}

// --- The endpoint, and the machine that starts

async function showEndpoint() {
  try {
    const { content } = await call("GET", "endpoint", { key: at("key").value.trim() });
    at("endpoint-status").textContent = content.status;
    at("endpoint").dataset.state = content.status === "InService" ? "good" : NOT_YET.includes(content.status) ? "wait" : "bad";
    return content;
  } catch (error) {
    at("endpoint-status").textContent = error.status === 403 ? "signed out" : "unknown";
    at("endpoint").dataset.state = "unknown";
    return null;
  }
}

/** Look while a run waits for a machine. */
async function watchEndpoint(run) {
  while (!run.isOver && !run.isCancelled) {
    const seen = await showEndpoint();
    const wasAway = NOT_YET.includes(run.endpoint?.status);
    run.endpoint = seen ?? run.endpoint;
    if (!run.isOver) showProgress();
    if (wasAway && seen?.status === "InService") wakeAll(run);
    if (!run.isOver) await new Promise((resolve) => setTimeout(resolve, 1000 * SHORT_WAIT));
  }
}

// --- Progress

function showProgress() {
  const { parts, endpoint, isCancelled, isOver } = run, count = (state) => parts.filter((part) => part.state === state).length;
  const elapsed = (performance.now() - run.began) / 1000, bar = at("progress"), start = endpoint?.start;
  const isStarting = !isOver && !count("running") && !count("done") && NOT_YET.includes(endpoint?.status);
  const open = count("queued") + count("running"), done = count("done");
  const step = isOver ? "done" : isStarting ? "starting" : count("running") || done ? "running" : "queued";
  const several = parts.length > 1 && done ? `, ${done} of ${parts.length} done` : "";
  const words = isOver ? outcome(count("failed"), done) : isCancelled ? "Cancelling" : run.waits || {
    queued: "Queued", starting: "The machine is starting", running: "Running",
  }[step] + several;
  let time = `${Math.round(elapsed)} s`;
  if (isOver) time = done ? `in ${run.took < 10 ? run.took.toFixed(1) : Math.round(run.took)} s` : "";
  bar.removeAttribute("value");  // moves to and fro
  if (isStarting && start?.usual_seconds) {
    const since = start.since ? Math.max(0, (Date.now() - Date.parse(start.since)) / 1000) : elapsed;
    time = `${clock(since)} of usually ${clock(start.usual_seconds)}`;
    if (since < start.usual_seconds) bar.value = since / start.usual_seconds;
  }
  if (isOver) bar.value = done ? 1 : 0;
  if (!isOver && parts.length > 1 && done) bar.value = done / (done + open);
  if (at("phase").textContent !== words) at("phase").textContent = words;  // or a screen reader repeats it
  at("elapsed").textContent = time;
  document.querySelector("[data-step=starting]").hidden = !(config.mode === "ec2" || isStarting);
  for (const each of at("steps").children) {
    if (each.dataset.step === step && !(isOver && !done)) each.setAttribute("aria-current", "step");
    else each.removeAttribute("aria-current");
  }
}

function outcome(failed, done) {
  if (failed) return done ? `Done, but ${failed} failed` : "Failed";
  if (run.isCancelled) return config.jobs ? "Cancelled" : "Cancelled here; the model may go on for a moment";
  return "Done";
}

function clock(seconds) {
  return `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;
}

function setBusy(isBusy) {
  at("generate").disabled = isBusy;
  at("cancel").disabled = !isBusy;
  at("history-list").inert = isBusy;  // its answers would take the place of those to come
  if (isBusy && document.activeElement === document.body) at("cancel").focus({ preventScroll: true });
  if (!isBusy && [at("cancel"), document.body].includes(document.activeElement)) at("generate").focus({ preventScroll: true });
}

function showError(error, part) {
  const box = at("error"), name = controlOf(error.field, kind(), config);
  const facts = [error.code, error.status > 200 && `HTTP ${error.status}`, part?.job && `job ${part.job}`].filter(Boolean);
  box.replaceChildren(make("p", "", error.message), make("p", "facts", facts.join(" · ")));
  if (error.requestId) {
    const id = make("p", "facts", "x-request-id ");
    id.append(make("code", "", error.requestId), copyButton("Copy the request id", () => error.requestId));
    box.append(id);
  }
  box.hidden = false;
  if (error.status === 403 && !at("sign-in").hidden) mark(at("key"), at("key-hint"), error.message);
  else if (name && name !== "prompt") mark(at(name), at(`${name}-hint`), error.message.replace(`${error.field}: `, ""));
  else if (name) mark(...promptControls(), error.message);
}

// --- Answers

function cardsOf(part) {
  return part.seeds.map((seed, index) => ({ part, seed, text: part.texts[index] }));
}

function showTexts(setup, cards) {
  at("samples-list").classList.toggle("several", cards.length > 1);
  at("samples-list").replaceChildren(...cards.map((card, index) => cardOf(setup, card, index + 1)));
}

function cardOf(setup, { part, seed, text }, number) {
  const card = make("li", `sample ${part.state}`), head = make("div", "head"), body = make("div", "text");
  head.append(make("b", "", `Sample ${number}`), make("span", "", seed === null ? "" : `seed ${seed}`), make("span", "grow"));
  card.append(head, body);
  if (part.link && /^https?:/.test(part.link)) {
    const link = make("a", "", "The answer is large: download it (5 minutes)");
    link.href = part.link;
    link.rel = "noreferrer";
    body.append(link);
  } else if (text === undefined) {
    body.append({ queued: "Waiting …", running: "Writing …", failed: "No answer.", cancelled: "Cancelled." }[part.state] ?? "No answer.");
  } else {
    const prompt = setup.kind === "text" ? setup.prompt : "";
    if (prompt) body.append(make("span", "prompt", prompt));
    body.append(make("span", "written", prompt && text.startsWith(prompt) ? text.slice(prompt.length) : text));
    const go = make("button", "", "Continue");
    go.type = "button";
    go.setAttribute("aria-label", `Continue with sample ${number}`);
    go.addEventListener("click", () => goOn(setup, text));
    head.append(go, copyButton(`Copy sample ${number}`, () => text));
  }
  return card;
}

/** The answer becomes part of the prompt. */
function goOn(setup, text) {
  if (setup.kind === "chat") {
    apply({ ...setup, messages: [...setup.messages, { role: "assistant", content: text }, { role: "user", content: "" }] });
    return at("messages").lastElementChild.querySelector("textarea").focus();
  }
  apply({ ...setup, prompt: text.startsWith(setup.prompt) ? text : setup.prompt + text });
  return at("prompt").focus();
}

function copyButton(label, text) {
  const button = make("button", "", "Copy");
  button.type = "button";
  button.setAttribute("aria-label", label);
  button.addEventListener("click", () => copy(button, text()));
  return button;
}

async function copy(button, text) {
  const before = button.dataset.words ??= button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not copied";
  }
  setTimeout(() => { button.textContent = before; }, 1500);
}

// --- History, in this browser only

function kept() {
  try {
    const found = JSON.parse(localStorage.getItem(HISTORY) ?? "[]");
    return Array.isArray(found) ? found.filter((each) => each?.setup && Array.isArray(each.texts)) : [];
  } catch {
    return [];
  }
}

function remember(entry) {
  const texts = entry.texts.map((text) => text.slice(0, MOST_KEPT_CHARACTERS));
  const entries = [{ ...entry, texts, at: new Date().toISOString() }, ...kept()].slice(0, MOST_KEPT);
  try {
    localStorage.setItem(HISTORY, JSON.stringify(entries));
  } catch {
    localStorage.removeItem(HISTORY);  // full
  }
  showHistory();
}

function showHistory() {
  const entries = kept();
  at("history-count").textContent = entries.length ? `(${entries.length})` : "";
  at("clear-history").disabled = !entries.length;
  at("history-list").replaceChildren(...entries.map((entry) => {
    const item = make("li"), button = make("button", "past");
    const words = entry.setup.prompt ?? entry.setup.messages?.at(-1)?.content ?? "";
    button.type = "button";
    button.append(make("span", "prompt", String(words).slice(0, 80)), make("span", "written", String(entry.texts[0]).slice(0, 80)));
    button.addEventListener("click", () => {
      apply(entry.setup);
      const part = { state: "done" };
      showTexts(entry.setup, entry.texts.map((text) => ({ part, seed: null, text: String(text) })));
      at("phase").textContent = `Asked ${new Date(entry.at).toLocaleString()}`;
      at("elapsed").textContent = "";
      at("error").hidden = true;
    });
    item.append(button);
    return item;
  }));
}

// --- Listening

function listen() {
  at("form").addEventListener("submit", (event) => {
    event.preventDefault();
    if (!at("generate").disabled) generate();
  });
  at("form").addEventListener("input", (event) => {
    if (event.target.type === "range") event.target.previousElementSibling.value = event.target.value;
    changed();
  });
  at("form").addEventListener("keydown", (event) => {
    const { target, key } = event, step = { ArrowUp: 1, ArrowDown: -1 }[key];
    if (key === "Enter" && (event.ctrlKey || event.metaKey)) at("form").requestSubmit();
    if (step && NUMBERS.includes(target.id)) {
      event.preventDefault();
      nudge(target, step);
    }
  });
  at("samples-list").addEventListener("click", ({ target }) => {
    if (!target.classList.contains("example")) return;
    apply({ ...current(), prompt: target.textContent, messages: [{ role: "user", content: target.textContent }] });
    promptControls()[0].focus();
  });
  at("cancel").addEventListener("click", cancel);
  at("reset").addEventListener("click", () => {
    history.replaceState(null, "", page);
    apply({});
  });
  at("share").addEventListener("click", () => {
    const fragment = toFragment(current());
    history.replaceState(null, "", fragment);
    copy(at("share"), config.signed_by_proxy ? fragment : page + fragment);  // the proxy's URL is nobody else's
  });
  at("dice").addEventListener("click", () => {
    at("seed").value = String(crypto.getRandomValues(new Uint32Array(1))[0] % 1_000_000);
    changed();
  });
  at("add-message").addEventListener("click", () => {
    const last = messages().at(-1)?.role;
    addMessage({ role: last === "user" ? "assistant" : "user", content: "" }).focus();
    changed();
  });
  at("key").addEventListener("input", () => {
    sessionStorage.setItem(KEY, at("key").value.trim());
    mark(at("key"), at("key-hint"), "");
  });
  at("key").addEventListener("change", showEndpoint);
  at("forget").addEventListener("click", () => {
    sessionStorage.removeItem(KEY);
    at("key").value = "";
    at("endpoint-status").textContent = "signed out";
    at("endpoint").dataset.state = "unknown";
  });
  at("tabs").addEventListener("click", (event) => {
    if (event.target.role === "tab") choose(event.target);
  });
  at("tabs").addEventListener("keydown", (event) => {
    const tabs = [...at("tabs").querySelectorAll("[role=tab]:not([hidden])")], step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step && tabs.includes(event.target)) choose(tabs.at((tabs.indexOf(event.target) + step) % tabs.length));
  });
  at("copy-code").addEventListener("click", () => copy(at("copy-code"), at("snippet").textContent));
  at("clear-history").addEventListener("click", () => {
    localStorage.removeItem(HISTORY);
    showHistory();
  });
  window.addEventListener("hashchange", () => {
    const given = fromFragment();
    if (given) apply(given);
  });
}

function nudge(input, direction) {
  const slider = input.parentElement.querySelector("[type=range]"), step = Number(slider?.step || 1);
  const value = (Number(input.value) || 0) + direction * step;
  input.value = String(Math.max(Number(input.dataset.min), Math.round(value / step) * step).toFixed(2) * 1);
  changed();
}

function make(tag, kind = "", words = "") {
  const made = document.createElement(tag);
  if (kind) made.className = kind;
  made.textContent = words;
  return made;
}
