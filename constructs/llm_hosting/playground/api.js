// Calls of the API, and its errors.

// OpenAI's routes take the key as a bearer token.
const BEARER = ["chat/completions", "completions", "embeddings", "rerank"];

/** An answer other than 2xx, or no answer (status 0). */
export class ApiError extends Error {
  constructor(status, content, headers) {
    const error = content?.error ?? {};
    super(typeof error.message === "string" ? error.message : "The answer did not come from the API: try again.");
    this.status = status;
    this.code = error.code ?? "unknown";
    this.field = error.field;
    this.requestId = headers?.get("x-request-id");
    this.retryAfter = seconds(headers);
  }
}

/** Send a request; returns the response before its body is read. Throws ApiError, or AbortError once `signal` fires. */
export async function send(method, path, { body, key, headers = {}, signal } = {}) {
  const secret = key && (BEARER.includes(path.split("?")[0]) ? { authorization: `Bearer ${key}` } : { "x-api-key": key });
  const response = await reached(() => fetch(path, {
    method, signal, body: body && JSON.stringify(body), cache: "no-store", credentials: "omit",
    headers: { ...headers, ...(body && { "content-type": "application/json" }), ...secret },
  }));
  if (response.ok) return response;
  throw new ApiError(response.status, parsed(await reached(() => response.text())), response.headers);
}

/** Call a route, relative to the page, and read its answer. Throws what `send` throws. */
export async function call(method, path, options) {
  const response = await send(method, path, options);
  const content = parsed(await reached(() => response.text()));
  return { status: response.status, content, retryAfter: seconds(response.headers) };
}

/** The result of a step over the network. Throws ApiError if the connection fails. */
export async function reached(step) {
  try {
    return await step();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    const message = "The API can\u2019t be reached: check the connection, then try again.";
    throw new ApiError(0, { error: { code: "unreachable", message } });
  }
}

function seconds(headers) {
  const advice = Number(headers?.get("retry-after"));
  return Number.isFinite(advice) && advice > 0 ? advice : 0;
}

/** The body as JSON; as text if it is not JSON. */
export function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
