// How far a run is, and what went wrong.
import { at, copyButton, make, mark } from "./page.js";
import { config } from "./deployment.js";
import { kind, promptControls } from "./controls.js";
import { startOf } from "./endpoint.js";
import { controlOf, isOneRequest } from "./requests.js";

export function showProgress(run) {
  const { parts, isCancelled, isOver } = run, count = (state) => parts.filter((part) => part.state === state).length;
  const elapsed = (performance.now() - run.began) / 1000, bar = at("progress"), start = startOf(run);
  const isStarting = !isOver && !count("running") && !count("done") && start;
  const open = count("queued") + count("running"), done = count("done");
  const several = parts.length > 1 && done ? `, ${done} of ${parts.length} done` : "";
  const step = isStarting ? "The machine is starting" : count("running") || done ? "Running" : "Queued";
  const words = isOver ? outcome(run, count("failed"), done) : isCancelled ? "Stopping" : run.waits || step + several;
  bar.removeAttribute("value");  // without a value, the bar moves to and fro
  if (isStarting?.usual_seconds) {
    const since = sinceStart(start, elapsed);
    if (since < start.usual_seconds) bar.value = since / start.usual_seconds;
  }
  if (isOver) bar.value = done ? 1 : 0;
  if (!isOver && parts.length > 1 && done) bar.value = done / (done + open);
  if (at("phase").textContent !== words) at("phase").textContent = words;  // a screen reader would repeat the same words
  at("elapsed").textContent = isOver ? figures(run, done) : isStarting?.usual_seconds
    ? `${clock(sinceStart(start, elapsed))} of usually ${clock(start.usual_seconds)}` : `${Math.round(elapsed)} s`;
}

/** Show a message in the place of a run's progress. */
export function showPhase(words) {
  at("phase").textContent = words;
  at("elapsed").textContent = "";
  at("progress").value = 0;
}

function sinceStart({ since }, elapsed) {
  return since ? Math.max(0, (Date.now() - Date.parse(since)) / 1000) : elapsed;
}

/** The figures of a run that is over. */
function figures(run, done) {
  const seconds = (time) => `${time < 10 ? time.toFixed(1) : Math.round(time)} s`;
  const first = run.firstAfter !== undefined && `first word after ${seconds(run.firstAfter)}`;
  const seed = run.setup.seed !== null && isOneRequest(run.setup.kind, config) && `seed ${run.setup.seed}`;
  return done ? [first, `in ${seconds(run.took ?? 0)}`, seed].filter(Boolean).join(" \u00b7 ") : "";
}

function outcome(run, failed, done) {
  if (failed) return done ? `Done, but ${failed} failed` : "Failed";
  if (!run.isCancelled || done === run.parts.length) return "Done";
  return run.parts.every((part) => part.job) ? "Stopped" : "Stopped here; the model may go on for a moment";
}

function clock(seconds) {
  return `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;
}

export function hideError() {
  at("error").hidden = true;
}

export function showError(error, part) {
  const box = at("error"), name = error.status === 413 ? "prompt" : controlOf(error.field, kind(), config);
  const facts = [error.code, error.status > 200 && `HTTP ${error.status}`, part?.job && `job ${part.job}`].filter(Boolean);
  box.replaceChildren(make("p", "", error.message), make("p", "facts", facts.join(" \u00b7 ")));
  if (error.requestId) {
    const id = make("p", "facts", "x-request-id ");
    id.append(make("code", "", error.requestId), copyButton("Copy the request id", () => error.requestId));
    box.append(id);
  }
  box.hidden = false;
  box.scrollIntoView({ block: "nearest" });
  if (error.status === 401 && !at("sign-in").hidden) mark(at("key"), at("key-hint"), error.message);
  else if (name && name !== "prompt") mark(at(name), at(`${name}-hint`), error.message.replace(`${error.field}: `, ""));
  else if (name) mark(...promptControls(), error.message);
}
