// Carries out a run: from the set-up to the answers of all its samples.
import { at, mark } from "./page.js";
import { call } from "./api.js";
import { followEnd, showAnswers, showPart, showText } from "./answers.js";
import { conversation, giveBack, isAsked, takeTurn } from "./chat.js";
import { changed, current, kind, promptControls } from "./controls.js";
import { config, key, own, store } from "./deployment.js";
import { isAway, watchEndpoint } from "./endpoint.js";
import { remember } from "./history.js";
import { answerByJob, cancelJob, isOpen } from "./jobs.js";
import { ASLEEP, patiently } from "./patience.js";
import { hideError, showError, showProgress } from "./progress.js";
import { requestsOf, streamOf, textsOf } from "./requests.js";
import { follow } from "./stream.js";

export const OPEN_RUN = "slipway-run";

let run = null;

/** A part is one request of a run: its `state`, and its `texts` and `thought` so far. */
class Run {
  constructor(setup, jobs) {
    Object.assign(this, { setup, key: key(), stop: new AbortController(), began: performance.now(), endpoint: null });
    Object.assign(this, { isCancelled: false, isOver: false, waits: "", ups: 0 });
    this.parts = requestsOf(setup, config)
      .map((request, index) => ({ ...request, job: jobs?.[index], state: "queued", texts: [], thought: "" }))
      .filter((part) => part.job || !jobs);
  }

  changed() {
    showProgress(this);
  }

  turn(part, state) {
    const isNew = part.state !== state;
    part.state = state;
    this.changed();
    if (isNew || state === "done") showPart(part);
  }

  finish(part, output, link) {
    part.link = link;
    part.texts = link ? [""] : textsOf(output);
    this.turn(part, "done");
  }

  failed(error, part) {
    showError(error, part);
  }

  /** Store the jobs, so that a reloaded page follows them. */
  accepted() {
    store(sessionStorage, OPEN_RUN, { setup: this.setup, jobs: this.parts.map((each) => each.job ?? null) });
  }
}

/** Send what was written. */
export async function generate() {
  const wrong = changed(), isChat = kind() === "chat";
  const missing = isChat ? "" : at("prompt").value ? "" : "Write a prompt.";
  if (!missing && wrong) return wrong.focus();
  if (!missing && !at("sign-in").hidden && !key()) {
    mark(at("key"), at("key-hint"), "Give the API\u2019s key: its operator reads it with the AWS CLI or console.");
    return at("key").focus();
  }
  const problem = missing || (isChat && takeTurn());
  if (problem) {
    const [area, hint] = promptControls();
    mark(area, hint, problem);
    return area.focus();
  }
  return carryOut(isChat ? { ...current(), messages: conversation() } : current());
}

/** Ask for another answer to the same turns. */
export function askAgain() {
  if (!isAsked()) return generate();  // the message is in the input again
  const wrong = changed();
  return wrong ? wrong.focus() : carryOut({ ...current(), messages: conversation() });
}

/** jobs: the ids of the jobs that were open when the page was left; null for a request without a job. */
export async function carryOut(setup, jobs) {
  const begun = run = new Run(setup, jobs);
  hideError();
  setBusy(true);
  showAnswers(setup, run.parts);
  followEnd(true);
  at("outcome").scrollIntoView({ block: "nearest" });
  const tick = setInterval(() => begun.changed(), 250);
  begun.changed();
  watchEndpoint(begun);
  await Promise.all(begun.parts.map((part) => answer(part, begun)));
  await begun.cancelling;
  clearInterval(tick);
  end(begun);
}

function end(run) {
  run.isOver = true;
  sessionStorage.removeItem(own(OPEN_RUN));
  run.took = (performance.now() - run.began) / 1000;
  run.changed();
  setBusy(false);
  const texts = run.parts.flatMap((part) => part.texts);
  if (texts.some(Boolean)) remember({ setup: run.setup, texts, seconds: run.took });
  else if (run.setup.kind === "chat" && !run.parts.some((part) => part.link)) giveBack();
}

/** Carry out one request; its outcome is in `part`. */
async function answer(part, run) {
  try {
    if (part.streamed && !part.job && !(config.jobs && isAway())) await answerByStream(part, run);
    else await answerWhole(part, run);
  } catch (error) {
    if (part.state !== "done") run.turn(part, run.isCancelled ? "cancelled" : "failed");
    if (!run.isCancelled) run.failed(error, part);
  }
}

/** Stream an answer; if the model turns out to sleep, get it by a job. */
async function answerByStream(part, run) {
  const { key, stop: { signal } } = run, path = streamOf(run.setup.kind, config);
  run.turn(part, "running");
  const tell = ({ text, thought, end }) => {
    if (text || thought) run.firstAfter ??= (performance.now() - run.began) / 1000;
    part.thought += thought;
    part.texts = [(part.texts[0] ?? "") + text];
    part.end = end ?? part.end;
    showText(part);
  };
  try {
    await patiently(() => follow(path, { body: part.streamed, key, signal }, tell), run, { final: config.jobs ? ASLEEP : [] });
    run.turn(part, "done");
  } catch (error) {
    if (!config.jobs || !ASLEEP.includes(error.code) || part.texts.length) throw error;
    await answerByJob(part, run);
  }
}

async function answerWhole(part, run) {
  if (config.jobs) return answerByJob(part, run);
  run.turn(part, "running");
  const { key, stop: { signal } } = run;
  const { content } = await patiently(() => call("POST", "generate", { body: part.body, key, signal }), run);
  return run.finish(part, content);
}

export function stop() {
  if (!run || run.isCancelled || run.isOver) return;
  run.isCancelled = true;
  const open = run.parts.filter(isOpen);
  run.cancelling = Promise.all(open.map((part) => cancelJob(part, run)));
  run.stop.abort();
  run.changed();
}

export function isBusy() {
  return Boolean(run) && !run.isOver;
}

function setBusy(isBusy) {
  at("generate").disabled = isBusy;
  at("cancel").disabled = !isBusy;
  at("kinds").disabled = at("reset").disabled = isBusy;
  at("history-list").inert = isBusy;  // to open a run would replace the answers that are coming
  const next = kind() === "chat" ? at("message") : at("generate"), isNowhere = document.activeElement === document.body;
  if (isBusy && isNowhere) at("cancel").focus({ preventScroll: true });
  if (!isBusy && (isNowhere || document.activeElement === at("cancel"))) next.focus({ preventScroll: true });
}
