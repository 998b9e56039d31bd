// Gets an answer by a job, for a model that sleeps or has no route that streams.
import { ApiError, call } from "./api.js";
import { config } from "./deployment.js";
import { LONG_WAIT, LOST, SHORT_WAIT, nap, patiently } from "./patience.js";

const OPEN = ["queued", "running"];

export function isOpen(part) {
  return Boolean(part.job) && OPEN.includes(part.state);
}

/** Follow the part's job, or submit one, to its end. Throws ApiError for a job without an answer. */
export async function answerByJob(part, run) {
  const { key } = run, headers = { "idempotency-key": crypto.randomUUID() };
  let { ups } = run, job = { status: "queued" }, pause = 0;
  if (!part.job) {
    // Not aborted by the signal: the job would go on, and the page would not know its id.
    const accepted = await patiently(() => call("POST", "jobs", { body: part.body, key, headers }), run);
    job = accepted.content;
    pause = accepted.retryAfter;
    part.job = job.id;
    run.accepted();
    if (run.isCancelled) return cancelJob(part, run);
  }
  while (OPEN.includes(job.status)) {
    run.turn(part, job.status);
    if (pause) await nap(pause, run, ups);
    if (run.isCancelled) throw new Error();
    ups = run.ups;
    const held = config.mode === "ec2" && job.status === "queued" ? SHORT_WAIT : LONG_WAIT;
    const wait = Math.min(held, config.longest_wait_in_seconds), { signal } = run.stop;
    const poll = () => call("GET", `jobs/${part.job}?wait=${wait}`, { key, signal });
    const found = await patiently(poll, run, { lost: LOST });
    job = found.content;
    pause = found.retryAfter;
  }
  if (job.status === "succeeded") return run.finish(part, job.output, job.output_url);
  throw new ApiError(200, { error: { code: job.status, message: `The job is ${job.status}.`, ...job.error } });
}

export async function cancelJob(part, run) {
  run.turn(part, "cancelled");
  try {
    await call("DELETE", `jobs/${part.job}`, { key: run.key });
  } catch (error) {
    if (error.status !== 409) return run.failed(error);
    const { content } = await call("GET", `jobs/${part.job}`, { key: run.key }).catch(() => ({}));  // the job had ended before
    if (content?.status === "succeeded") run.finish(part, content.output, content.output_url);
  }
  return undefined;
}
