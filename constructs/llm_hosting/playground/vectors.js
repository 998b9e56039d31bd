// A model that makes vectors or scores: how near the first text is to the others.
import { ApiError, call } from "./api.js";
import { key } from "./deployment.js";
import { at } from "./page.js";

const WORDS = {
  embeddings: ["This model makes vectors", "Compare", "One text in each line; the first is compared with the others."],
  rerank: ["This model scores texts", "Score", "The first line is the query, each other line a text."],
};

const WAIT_IN_SECONDS = 840;  // the longest, for a model that sleeps

/** Show the texts' form in place of prompts. route: `embeddings` or `rerank`. */
export function showVectors(route, isDisabled) {
  const [title, verb, hint] = WORDS[route];
  at("vectors-title").textContent = title;
  at("vectors-hint").textContent = hint;
  at("compare").textContent = verb;
  at("compare").disabled = isDisabled;
  at("vectors").hidden = false;
  document.querySelector("main").hidden = true;
  at("vectors").addEventListener("submit", (event) => {
    event.preventDefault();
    compare(route);
  });
}

async function compare(route) {
  const texts = at("texts").value.split("\n").map((line) => line.trim()).filter(Boolean);
  at("vectors-said").textContent = texts.length < 2 ? "Write two lines or more." : "\u2026";
  at("nearness").replaceChildren();
  if (texts.length < 2) return at("texts").focus();
  const body = route === "rerank" ? { query: texts[0], documents: texts.slice(1) } : { input: texts };
  try {
    const { status, content } = await call("POST", `${route}?wait=${WAIT_IN_SECONDS}`, { body, key: key() });
    if (content?.error) throw new ApiError(status, content);  // after a wait whose spaces have sent the status
    const [said, rows] = route === "rerank" ? scores(content, texts) : nearness(content, texts);
    at("vectors-said").textContent = said;
    at("nearness").replaceChildren(...rows.map(([text, value]) => item(text, value)));
  } catch (error) {
    at("vectors-said").textContent = error.message;
  }
}

function nearness({ data, usage }, texts) {
  const [first, ...others] = data.map((each) => each.embedding);
  const dot = (one, other) => one.reduce((sum, value, index) => sum + value * other[index], 0);
  const near = (other) => dot(first, other) / Math.sqrt(dot(first, first) * dot(other, other));
  const rows = others.map((other, index) => [texts[index + 1], near(other)]).sort((a, b) => b[1] - a[1]);
  return [`Vectors of ${first.length} numbers, ${usage?.total_tokens ?? "?"} tokens. 1.00 means the same.`, rows];
}

function scores({ results }, texts) {
  return ["Best first.", results.map((each) => [texts[each.index + 1], each.relevance_score])];
}

function item(text, value) {
  const made = document.createElement("li");
  made.textContent = `${value.toFixed(2)}  ${text}`;
  return made;
}
