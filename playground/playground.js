// The page: controls, runs, progress, answers, history. What a model wrote becomes text nodes only.
import { draw } from "./picture.js";
import {
  ApiError, call, controlOf, engineNames, engineProblem, isOneRequest, promptKey, requestsOf, snippets, textsOf,
} from "./requests.js";

const NUMBERS = ["samples", "length", "temperature", "top_k", "top_p", "seed"];
const ROLES = ["system", "user", "assistant"];
const KEY = "slipway-key", HISTORY = "slipway-history", OPEN_RUN = "slipway-run", MOST_KEPT = 20, MOST_KEPT_CHARACTERS = 20_000;
const SHORT_WAIT = 5, LONG_WAIT = 25;  // seconds that one poll is held: short while a machine may start in between
const BUSY = [429, 503], LOST = [0, 500, 502, 504];  // statuses after which a request is sent again, the latter GETs only
const MOST_RETRIES = 40, LONGEST_PAUSE = 60;
const PERMANENT = ["quota_exceeded", "daily_tokens_exceeded", "endpoint_not_deployed"];  // no short pause mends these
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
  document.title = `${config.model_id} \u00b7 Slipway playground`;
  at("about").textContent = [config.engine, config.mode, config.deployment].filter(Boolean).join(" \u00b7 ");
  const needsKey = config.auth === "api-key" && !config.signed_by_proxy;
  at("sign-in").hidden = !needsKey;
  at("unsigned").hidden = !isUnsigned();
  at("command").textContent = `python -m slipway playground ${config.deployment ?? "<name>"}`;
  at("generate").disabled = isUnsigned();
  at("key").value = sessionStorage.getItem(own(KEY)) ?? "";
  const kinds = ["text", "chat"].filter((kind) => config.bodies.includes(promptKey(kind, config)));
  at("kinds").hidden = kinds.length < 2;
  document.querySelector(`[name=kind][value=${kinds[0]}]`).checked = true;
  document.querySelector("[data-step=starting]").hidden = config.mode !== "ec2";
  listen();
  apply(fromFragment() ?? {});
  showHistory();
  delete document.body.dataset.loading;
  if (isUnsigned() || (needsKey && !at("key").value)) return;
  const open = stored(sessionStorage, OPEN_RUN);
  if (open?.setup && Array.isArray(open.jobs)) {
    apply(open.setup);
    carryOut(open.setup, open.jobs);
  } else showEndpoint();
}

/** The name in storage: other stages and deployments may share the origin, and the proxy's path is new each time. */
function own(name) {
  return `${name} ${config.signed_by_proxy ? config.deployment : new URL(page).pathname}`;
}

function stored(storage, name) {
  try {
    return JSON.parse(storage.getItem(own(name)));
  } catch {
    return null;
  }
}

/** Whether there was room. */
function store(storage, name, value) {
  try {
    storage.setItem(own(name), JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
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

/** The largest number that a control takes: of the engine, or of the page where the engine sets none. */
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
    if (slider && name === "samples") slider.max = String(mostOf(name));
    if (slider && name === "length") slider.max = String(Math.min(512, config.parameters[engineNames(kind(), config).length]?.maximum ?? 512));
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
  else at("code-hint").textContent = "A number above is wrong: this is still the call before it.";
  return wrong.length ? at(wrong[0]) : null;
}

function showCode() {
  const [{ body }] = requestsOf(current(), config), texts = snippets(body, config, page);
  for (const name of ["curl", "python", "boto3"]) at(`tab-${name}`).hidden = !texts[name];
  const chosen = Object.keys(texts).find((name) => at(`tab-${name}`).getAttribute("aria-selected") === "true");
  at("snippet").firstElementChild.textContent = texts[chosen];
  const more = current().samples > 1 && !isOneRequest(kind(), config) ? "One call per sample. " : "";
  const later = config.jobs ? "An answer that takes longer is fetched with GET jobs/<id>." : "";
  const secret = config.signed_by_proxy ? " The URL holds your token: others on this machine can read a command line." : "";
  at("code-hint").textContent = more + later + secret || "\u00a0";
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
    mark(at("key"), at("key-hint"), "Give the API\u2019s key: its operator reads it with the AWS CLI or console.");
    return at("key").focus();
  }
  if (matchMedia("(max-width: 959px)").matches) at("answers-title").scrollIntoView();
  return carryOut(current());
}

/** jobs: the ids of those that were open when the page was left; null for a request that had none. */
async function carryOut(setup, jobs) {
  const key = at("key").value.trim(), stop = new AbortController();
  run = { setup, key, stop, began: performance.now(), endpoint: null, isCancelled: false, waits: "", ups: 0 };
  run.parts = requestsOf(setup, config)
    .map((request, index) => ({ ...request, job: jobs?.[index], state: "queued", texts: [] }))
    .filter((part) => part.job || !jobs);
  at("error").hidden = true;
  setBusy(true);
  showTexts(setup, run.parts.flatMap(cardsOf));
  const tick = setInterval(showProgress, 250);
  showProgress();
  watchEndpoint(run);
  await Promise.all(run.parts.map((part) => answer(part, run)));
  await run.cancelling;
  clearInterval(tick);
  run.isOver = true;
  sessionStorage.removeItem(own(OPEN_RUN));
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
    if (part.state !== "done") turn(part, run.isCancelled ? "cancelled" : "failed");
    if (!run.isCancelled) showError(error, part);
  }
}

async function answerByJob(part, run) {
  const { key } = run, headers = { "idempotency-key": crypto.randomUUID() };
  let { ups } = run, job = { status: "queued" }, pause = 0;
  if (!part.job) {
    // Not ended by the signal: the job of a request that is cut off would go on without a name.
    const accepted = await patiently(() => call("POST", "jobs", { body: part.body, key, headers }), run);
    job = accepted.content;
    pause = accepted.retryAfter;
    part.job = job.id;
    store(sessionStorage, OPEN_RUN, { setup: run.setup, jobs: run.parts.map((each) => each.job ?? null) });
    if (run.isCancelled) return cancelJob(part, run);
  }
  while (OPEN.includes(job.status)) {
    turn(part, job.status);
    if (pause) await nap(pause, run, ups);
    if (run.isCancelled) throw new Error();
    ups = run.ups;
    const held = config.mode === "ec2" && job.status === "queued" ? SHORT_WAIT : LONG_WAIT;
    const wait = Math.min(held, config.longest_wait_in_seconds), { signal } = run.stop;
    const found = await patiently(() => call("GET", `jobs/${part.job}?wait=${wait}`, { key, signal }), run, LOST);
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
async function patiently(send, run, lost = []) {
  for (let attempt = 0; ; attempt += 1) {
    try {
      const found = await send();
      run.waits = "";
      return found;
    } catch (error) {
      const isLost = lost.includes(error.status);
      const passes = isLost || (BUSY.includes(error.status) && !PERMANENT.includes(error.code));
      if (!passes || run.isCancelled || attempt >= MOST_RETRIES || error.retryAfter > LONGEST_PAUSE) throw error;
      run.waits = isLost ? "No answer from the API; asking again" : error.message;
      showProgress();
      await nap(error.retryAfter || Math.min(attempt + 1, SHORT_WAIT), run);
    }
  }
}

/** Wait; a cancel, or an endpoint that has come into service since `ups`, ends it early. */
async function nap(seconds, run, ups = run.ups) {
  const end = performance.now() + 1000 * seconds;
  while (performance.now() < end && !run.isCancelled && run.ups === ups) {
    await new Promise((resolve) => { setTimeout(resolve, 250); });
  }
}

function cancel() {
  if (!run || run.isCancelled) return;
  run.isCancelled = true;
  const open = run.parts.filter((part) => part.job && OPEN.includes(part.state));
  run.cancelling = Promise.all(open.map((part) => cancelJob(part, run)));
  run.stop.abort();
  showProgress();
}

async function cancelJob(part, run) {
  turn(part, "cancelled");
  try {
    await call("DELETE", `jobs/${part.job}`, { key: run.key });
  } catch (error) {
    if (error.status !== 409) return showError(error);
    const { content } = await call("GET", `jobs/${part.job}`, { key: run.key }).catch(() => ({}));  // it had ended before
    if (content?.status === "succeeded") finish(part, content.output, content.output_url);
  }
}

// --- The endpoint, and the machine that starts

async function showEndpoint() {
  try {
    const { content } = await call("GET", "endpoint", { key: at("key").value.trim() });
    at("endpoint-status").textContent = content.status === "InService" ? "Ready" : content.status;
    at("endpoint").dataset.state = content.status === "InService" ? "good" : NOT_YET.includes(content.status) ? "wait" : "bad";
    return content;
  } catch (error) {
    at("endpoint-status").textContent = error.status === 401 ? "No valid key" : "Unknown";
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
    if (wasAway && seen?.status === "InService") run.ups += 1;
    const isWaiting = config.mode === "ec2" || NOT_YET.includes(seen?.status);
    if (!run.isOver) await new Promise((resolve) => { setTimeout(resolve, 1000 * (isWaiting ? SHORT_WAIT : LONG_WAIT)); });
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
  if (isOver && done && run.setup.seed !== null && isOneRequest(run.setup.kind, config)) time += ` \u00b7 seed ${run.setup.seed}`;
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
  if (run.isCancelled && done < run.parts.length) return config.jobs ? "Cancelled" : "Cancelled here; the model may go on for a moment";
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
  const box = at("error"), name = error.status === 413 ? "prompt" : controlOf(error.field, kind(), config);
  const facts = [error.code, error.status > 200 && `HTTP ${error.status}`, part?.job && `job ${part.job}`].filter(Boolean);
  box.replaceChildren(make("p", "", error.message), make("p", "facts", facts.join(" \u00b7 ")));
  if (error.requestId) {
    const id = make("p", "facts", "x-request-id ");
    id.append(make("code", "", error.requestId), copyButton("Copy the request id", () => error.requestId));
    box.append(id);
  }
  box.hidden = false;
  if (error.status === 401 && !at("sign-in").hidden) mark(at("key"), at("key-hint"), error.message);
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
    body.append({ queued: "Waiting \u2026", running: "Writing \u2026", failed: "No answer.", cancelled: "Cancelled." }[part.state] ?? "No answer.");
  } else {
    const prompt = setup.kind === "text" ? setup.prompt : "";
    if (prompt) body.append(make("span", "prompt", prompt));
    body.append(make("span", "written", prompt && text.startsWith(prompt) ? text.slice(prompt.length) : text));
    const go = make("button", "", "Continue");
    go.type = "button";
    go.setAttribute("aria-label", `Continue with sample ${number}`);
    go.addEventListener("click", () => goOn(setup, text));
    if (!part.isCut) head.append(go);
    head.append(copyButton(`Copy sample ${number}`, () => text));
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
  const found = stored(localStorage, HISTORY);
  return Array.isArray(found) ? found.filter((each) => each?.setup && Array.isArray(each.texts)) : [];
}

function remember(entry) {
  let isCut = false;
  const shortened = JSON.parse(JSON.stringify(entry), (_, value) => {
    if (typeof value !== "string" || value.length <= MOST_KEPT_CHARACTERS) return value;
    isCut = true;
    return value.slice(0, MOST_KEPT_CHARACTERS);
  });
  const entries = [{ ...shortened, isCut, at: new Date().toISOString() }, ...kept()].slice(0, MOST_KEPT);
  while (entries.length && !store(localStorage, HISTORY, entries)) entries.pop();  // full: the oldest goes
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
      const part = { state: "done", isCut: entry.isCut };
      showTexts(entry.setup, entry.texts.map((text) => ({ part, seed: null, text: String(text) })));
      const cut = entry.isCut ? "; only the beginning of its long texts was kept" : "";
      at("phase").textContent = `Asked ${new Date(entry.at).toLocaleString()}${cut}`;
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
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) at("form").requestSubmit();
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
    sessionStorage.setItem(own(KEY), at("key").value.trim());
    mark(at("key"), at("key-hint"), "");
  });
  at("key").addEventListener("change", showEndpoint);
  at("forget").addEventListener("click", () => {
    sessionStorage.removeItem(own(KEY));
    at("key").value = "";
    at("endpoint-status").textContent = "No key";
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
    localStorage.removeItem(own(HISTORY));
    showHistory();
  });
  window.addEventListener("hashchange", () => {
    const given = fromFragment();
    if (given) apply(given);
  });
}

function make(tag, kind = "", words = "") {
  const made = document.createElement(tag);
  if (kind) made.className = kind;
  made.textContent = words;
  return made;
}
