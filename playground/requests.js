// From a set-up to requests, from answers to texts, and the same call in code.

/** The key of the body that holds the prompt. */
export function promptKey(kind, { engine, bodies }) {
  if (kind === "chat") return "messages";
  // The engine `transformers` takes all samples in one request of the form `prompt`.
  const best = engine === "transformers" ? ["prompt", "inputs"] : ["inputs", "prompt"];
  return best.find((key) => bodies.includes(key));
}

/** Whether one request brings all samples. */
export function isOneRequest(kind, config) {
  return config.engine === "transformers" && promptKey(kind, config) === "prompt";
}

/** The engine's name for each control. */
export function engineNames(kind, config) {
  const same = { temperature: "temperature", top_k: "top_k", top_p: "top_p", seed: "seed" };
  if (isOneRequest(kind, config)) return { ...same, samples: "num_samples", length: "length", top_k: "top_n" };
  return { ...same, length: promptKey(kind, config) === "inputs" ? "max_new_tokens" : "max_tokens" };
}

/** The requests of a set-up: `body`, and the `seeds` of the samples that its answer brings. */
export function requestsOf(setup, config) {
  const seeds = Array.from({ length: setup.samples }, (_, index) => (setup.seed === null ? null : setup.seed + index));
  if (isOneRequest(setup.kind, config)) {
    const { prompt, samples, length, temperature, top_p, top_k, seed } = setup;
    const body = { prompt, num_samples: samples, length, temperature, top_p, top_n: top_k };
    return [{ body: seed === null ? body : { ...body, seed }, seeds: seeds.map(() => null) }];  // of all together
  }
  return seeds.map((seed) => ({ body: bodyOf(setup, config, seed), seeds: [seed] }));
}

function bodyOf(setup, config, seed) {
  const key = promptKey(setup.kind, config), isGreedy = setup.temperature === 0;
  const sampling = {
    ...(setup.top_k > 0 && !isGreedy && { top_k: setup.top_k }),  // off is left out: engines disagree on its number
    ...(setup.top_p < 1 && !isGreedy && { top_p: setup.top_p }),
    ...(seed !== null && { seed }),
  };
  if (key === "inputs") {
    const how = isGreedy ? { do_sample: false } : { do_sample: true, temperature: setup.temperature };
    return { inputs: setup.prompt, parameters: { max_new_tokens: setup.length, ...how, ...sampling } };
  }
  const asked = key === "messages" ? { messages: setup.messages } : { prompt: setup.prompt };
  return { ...asked, max_tokens: setup.length, temperature: setup.temperature, ...sampling };
}

/** Why the engine refuses a value that passes the page's own range; "" = it does not. */
export function engineProblem(control, value, kind, config) {
  const name = engineNames(kind, config)[control], range = config.parameters[name];
  const isLeftOut = (control === "temperature" && value === 0 && promptKey(kind, config) === "inputs")
    || (control === "top_k" && value === 0) || (control === "top_p" && value === 1);
  if (!range || isLeftOut) return "";
  if (value < range.minimum) return `${config.engine} takes ${range.minimum} or more.`;
  if (value > range.maximum) return `${config.engine} takes ${range.maximum} or less.`;
  if (value <= range.exclusive_minimum) return `${config.engine} takes more than ${range.exclusive_minimum} only.`;
  if (value >= range.exclusive_maximum) return `${config.engine} takes less than ${range.exclusive_maximum} only.`;
  return "";
}

/** The control that the field of an error belongs to, "prompt" for the prompt's; null = none. */
export function controlOf(field, kind, config) {
  const name = String(field ?? "").replace(/^parameters\./, "");
  if (/^(inputs|prompt|messages)\b/.test(name)) return "prompt";
  const found = Object.entries(engineNames(kind, config)).find(([, own]) => own === name);
  return found ? found[0] : null;
}

/** The texts of an answer in any engine's shape. */
export function textsOf(answer) {
  if (typeof answer === "string") return [answer];
  if (Array.isArray(answer)) return answer.flatMap(textsOf);
  if (Array.isArray(answer?.choices)) return answer.choices.map((each) => each.message?.content ?? each.text ?? "");
  if (typeof answer?.generated_text === "string") return [answer.generated_text];
  return [JSON.stringify(answer, null, 2)];
}

/** An answer that is no 2xx, or none at all (status 0). */
export class ApiError extends Error {
  constructor(status, content, headers) {
    const error = content?.error ?? {};
    super(typeof error.message === "string" ? error.message : "The answer is not the API\u2019s: try again.");
    this.status = status;
    this.code = error.code ?? "unknown";
    this.field = error.field;
    this.requestId = headers?.get("x-request-id");
    this.retryAfter = seconds(headers);
  }
}

/** Call a route, relative to the page. Throws ApiError, or AbortError once `signal` fires. */
export async function call(method, path, { body, key, headers = {}, signal } = {}) {
  const sent = { ...headers, ...(body && { "content-type": "application/json" }), ...(key && { "x-api-key": key }) };
  let response, content;
  try {
    response = await fetch(path, {
      method, signal, headers: sent, body: body && JSON.stringify(body), cache: "no-store", credentials: "omit",
    });
    content = parsed(await response.text());
  } catch (error) {
    if (error.name === "AbortError") throw error;
    const message = "The API can\u2019t be reached: check the connection, then try again.";
    throw new ApiError(0, { error: { code: "unreachable", message } });
  }
  if (!response.ok) throw new ApiError(response.status, content, response.headers);
  return { status: response.status, content, retryAfter: seconds(response.headers) };
}

function seconds(headers) {
  const advice = Number(headers?.get("retry-after"));
  return Number.isFinite(advice) && advice > 0 ? advice : 0;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The same call as text: { curl, python, boto3 }. The key is named, never shown. */
export function snippets(body, config, url) {
  const hold = Math.min(25, config.longest_wait_in_seconds);
  const path = config.jobs ? `jobs?wait=${hold}` : "generate";
  const own = config.signed_by_proxy ? "" : config.auth;  // the proxy signs, or adds the key
  const curl = [
    `curl -sS '${url}${path}'`,
    ...(own === "iam" ? [`--aws-sigv4 "aws:amz:${config.region}:execute-api"`,
      '--user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY"', '-H "x-amz-security-token: $AWS_SESSION_TOKEN"'] : []),
    ...(own === "api-key" ? ['-H "x-api-key: $API_KEY"'] : []),
    "-H 'content-type: application/json'",
    `-d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`,
  ].join(" \\\n  ");
  const python = `import json
${own === "api-key" ? "import os\n" : ""}import urllib.request

body = ${literal(body)}
headers = {"content-type": "application/json"${own === "api-key" ? ', "x-api-key": os.environ["API_KEY"]' : ""}}
request = urllib.request.Request("${url}${path}", json.dumps(body).encode(), headers)
print(json.load(urllib.request.urlopen(request)))
`;
  const boto3 = `import json
import urllib.request

import boto3
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest

body = json.dumps(${literal(body)}).encode()
signed = AWSRequest("POST", "${config.api_url ?? url}${path}", {"content-type": "application/json"}, body)
SigV4Auth(boto3.Session().get_credentials(), "execute-api", "${config.region}").add_auth(signed)
request = urllib.request.Request(signed.url, body, dict(signed.headers))
print(json.load(urllib.request.urlopen(request)))
`;
  return { curl, ...(own !== "iam" && { python }), ...(config.auth === "iam" && { boto3 }) };
}

function literal(value) {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value !== "object") return JSON.stringify(value);
  return `{${Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${literal(each)}`).join(", ")}}`;
}
