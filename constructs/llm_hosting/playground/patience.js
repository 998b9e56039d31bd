// Waits: as Retry-After says, and until an endpoint is in service.

export const SHORT_WAIT = 5, LONG_WAIT = 25;  // seconds that a poll may take; short while a machine may start
export const LOST = [0, 500, 502, 504];  // statuses after which a GET is repeated
const BUSY = [429, 503];  // statuses after which any request is repeated
const MOST_RETRIES = 40, LONGEST_PAUSE = 60;
// Codes that a short pause does not help: limits, and an endpoint that is not deployed.
const PERMANENT = ["quota_exceeded", "daily_tokens_exceeded", "tokens_per_month_exceeded", "endpoint_not_deployed"];
export const ASLEEP = ["model_starting", "endpoint_not_ready"];

/** Send a request, and repeat it as often and as late as the API asks. */
export async function patiently(send, run, { lost = [], final = [] } = {}) {
  for (let attempt = 0; ; attempt += 1) {
    try {
      const found = await send();
      run.waits = "";
      return found;
    } catch (error) {
      const isLost = lost.includes(error.status), isFinal = [...PERMANENT, ...final].includes(error.code);
      const passes = isLost || (BUSY.includes(error.status) && !isFinal);
      if (!passes || run.isCancelled || attempt >= MOST_RETRIES || error.retryAfter > LONGEST_PAUSE) throw error;
      run.waits = isLost ? "No answer from the API; asking again" : error.message;
      run.changed();
      await nap(error.retryAfter || Math.min(attempt + 1, SHORT_WAIT), run);
    }
  }
}

/** Wait; a stop, or an endpoint that came into service since `ups`, ends the wait early. */
export async function nap(seconds, run, ups = run.ups) {
  const end = performance.now() + 1000 * seconds;
  while (performance.now() < end && !run.isCancelled && run.ups === ups) {
    await new Promise((resolve) => { setTimeout(resolve, 250); });
  }
}
