// Reads a streamed answer: server-sent events with OpenAI's chunks.
import { ApiError, parsed, reached, send } from "./api.js";

const BROKEN_OFF = { error: { code: "stream_broken", message: "The answer broke off before its end: try again." } };

/**
 * Send a request, and pass on each piece of the answer: its `text`, its `thought` if the model thinks first, and with the last
 * piece its `end`, such as "length". Throws what `send` throws, and an ApiError for a stream that ends early.
 */
export async function follow(path, options, tell) {
  const response = await send("POST", path, options);
  let isWhole = false;
  for await (const line of lines(response.body)) {
    const data = line.startsWith("data:") ? line.slice(5).trim() : "";
    const value = data && parsed(data);
    if (data === "[DONE]") isWhole = true;
    if (value?.error) throw new ApiError(response.status, value, response.headers);
    for (const { delta, text, finish_reason: end } of value?.choices ?? []) {
      tell({ text: delta?.content ?? text ?? "", thought: delta?.reasoning_content ?? delta?.reasoning ?? "", end });
    }
  }
  if (!isWhole) throw new ApiError(response.status, BROKEN_OFF, response.headers);
}

async function* lines(body) {
  const reader = body.getReader(), decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reached(() => reader.read());
    const found = (rest + decoder.decode(value, { stream: !done })).split("\n");
    rest = found.pop();
    yield* found;
    if (done) return;
  }
}
