// Turns a set-up into requests, and answers into texts.

/** The key of the body that holds the prompt. */
export function promptKey(kind, { engine, bodies }) {
  if (kind === "chat") return "messages";
  // The engine `transformers` takes all samples in one request of the form `prompt`.
  const best = engine === "transformers" ? ["prompt", "inputs"] : ["inputs", "prompt"];
  return best.find((key) => bodies.includes(key));
}

/** The route that streams; undefined if there is none. */
export function streamOf(kind, config) {
  return config.streams.includes(kind) ? { text: "completions", chat: "chat/completions" }[kind] : undefined;
}

/** Whether one request asks for all samples. */
export function isOneRequest(kind, config) {
  return config.engine === "transformers" && promptKey(kind, config) === "prompt";
}

/** The engine's name for each control. */
export function engineNames(kind, config) {
  const same = { temperature: "temperature", top_k: "top_k", top_p: "top_p", seed: "seed" };
  if (isOneRequest(kind, config)) return { ...same, samples: "num_samples", length: "length", top_k: "top_n" };
  return { ...same, length: isInputs(kind, config) ? "max_new_tokens" : "max_tokens" };
}

function isInputs(kind, config) {
  return promptKey(kind, config) === "inputs" && !streamOf(kind, config);
}

/**
 * The requests of a set-up: the `body` in the engine's form, the `streamed` one in OpenAI's where a route streams, and the
 * `seeds` of the samples that its answer brings.
 */
export function requestsOf(setup, config) {
  const seeds = Array.from({ length: setup.samples }, (_, index) => (setup.seed === null ? null : setup.seed + index));
  if (isOneRequest(setup.kind, config)) {
    const { prompt, samples, length, temperature, top_p, top_k, seed } = setup;
    const body = { prompt, num_samples: samples, length, temperature, top_p, top_n: top_k };
    return [{ body: seed === null ? body : { ...body, seed }, seeds: seeds.map(() => null) }];  // one seed for all samples
  }
  const isStreamed = streamOf(setup.kind, config), openaiKey = setup.kind === "chat" ? "messages" : "prompt";
  return seeds.map((seed) => ({
    body: bodyOf(setup, promptKey(setup.kind, config), seed),
    streamed: isStreamed && { ...bodyOf(setup, openaiKey, seed), stream: true },
    seeds: [seed],
  }));
}

function bodyOf(setup, key, seed) {
  const isGreedy = setup.temperature === 0;
  const sampling = {
    ...(setup.top_k > 0 && !isGreedy && { top_k: setup.top_k }),  // left out when off, because engines disagree on the value for off
    ...(setup.top_p < 1 && !isGreedy && { top_p: setup.top_p }),
    ...(seed !== null && { seed }),
  };
  if (key === "inputs") {
    const how = isGreedy ? { do_sample: false } : { do_sample: true, temperature: setup.temperature };
    return { inputs: setup.prompt, parameters: { max_new_tokens: setup.length, ...how, ...sampling } };
  }
  const asked = key === "messages" ? { messages: setup.messages.map(withParts) } : { prompt: setup.prompt };
  return { ...asked, max_tokens: setup.length, temperature: setup.temperature, ...sampling };
}

/** A turn in OpenAI's form: with pictures, its content is a list of parts. */
function withParts({ role, content, images }) {
  if (!images?.length) return { role, content };
  const parts = images.map((url) => ({ type: "image_url", image_url: { url } }));
  return { role, content: content ? [...parts, { type: "text", text: content }] : parts };
}

/** Why the engine refuses a value that is in the page's own range; "" if it takes it. */
export function engineProblem(control, value, kind, config) {
  const name = engineNames(kind, config)[control], range = config.parameters[name];
  const isLeftOut = (control === "temperature" && value === 0 && promptKey(kind, config) === "inputs")
    || (control === "top_k" && value === 0) || (control === "top_p" && value === 1);
  if (!range || isLeftOut) return "";
  if (value < range.minimum) return `${config.engine} takes ${range.minimum} or more.`;
  if (value > range.maximum) return `${config.engine} takes ${range.maximum} or less.`;
  if (value <= range.exclusive_minimum) return `${config.engine} needs a number above ${range.exclusive_minimum}.`;
  if (value >= range.exclusive_maximum) return `${config.engine} needs a number below ${range.exclusive_maximum}.`;
  return "";
}

/** The control to which the field of an error belongs, "prompt" for the prompt's; null if none. */
export function controlOf(field, kind, config) {
  const name = String(field ?? "").replace(/^parameters\./, "");
  if (/^(inputs|prompt|messages)\b/.test(name)) return "prompt";
  if (/^max_(new|completion)?_?tokens$/.test(name)) return "length";
  const found = Object.entries(engineNames(kind, config)).find(([, own]) => own === name);
  return found ? found[0] : null;
}

/** The texts of an answer in the shape of any engine. */
export function textsOf(answer) {
  if (typeof answer === "string") return [answer];
  if (Array.isArray(answer)) return answer.flatMap(textsOf);
  if (Array.isArray(answer?.choices)) return answer.choices.map((each) => each.message?.content ?? each.text ?? "");
  if (typeof answer?.generated_text === "string") return [answer.generated_text];
  return [JSON.stringify(answer, null, 2)];
}
