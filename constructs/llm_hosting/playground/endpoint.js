// The endpoint's status, in the corner of the page.
import { at } from "./page.js";
import { call } from "./api.js";
import { config, key } from "./deployment.js";
import { LONG_WAIT, SHORT_WAIT } from "./patience.js";

const NOT_YET = ["Starting", "Stopped", "Stopping", "Creating"];  // states of an endpoint that does not serve yet

let last = null;

/** Whether the endpoint was starting when last seen. */
export function isAway() {
  return NOT_YET.includes(last?.status);
}

export async function showEndpoint() {
  try {
    last = (await call("GET", "endpoint", { key: key() })).content;
    at("endpoint-status").textContent = last.status === "InService" ? "Ready" : last.status;
    at("endpoint").dataset.state = last.status === "InService" ? "good" : isAway() ? "wait" : "bad";
    return last;
  } catch (error) {
    showNoEndpoint(error.status === 401 ? "No valid key" : "Unknown");
    return null;
  }
}

export function showNoEndpoint(words) {
  at("endpoint-status").textContent = words;
  at("endpoint").dataset.state = "unknown";
}

/** Look at the endpoint while a run waits for a machine. */
export async function watchEndpoint(run) {
  while (!run.isOver && !run.isCancelled) {
    const wasAway = NOT_YET.includes(run.endpoint?.status), seen = await showEndpoint();
    run.endpoint = seen ?? run.endpoint;
    if (!run.isOver) run.changed();
    if (wasAway && seen?.status === "InService") run.ups += 1;
    const seconds = config.mode === "ec2" || isAway() ? SHORT_WAIT : LONG_WAIT;
    if (!run.isOver) await new Promise((resolve) => { setTimeout(resolve, 1000 * seconds); });
  }
}

/** The start of the run's machine: since when, and how long it usually takes; null if none starts. */
export function startOf({ endpoint }) {
  return NOT_YET.includes(endpoint?.status) ? endpoint.start ?? {} : null;
}
