// The picture: how temperature, top-k and top-p change the probabilities of the next token.

const TOKENS = [
  ["blue", 3.2], ["clear", 2.6], ["grey", 2.1], ["the", 1.7], ["full", 1.3],
  ["falling", 0.9], ["not", 0.5], ["on", 0], ["bright", -0.5], ["seven", -1.4],
];
const ROW = 20, LEFT = 74, WIDTH = 262;
const SVG = "http://www.w3.org/2000/svg";

/** The probability of each token, 0 if it is cut; `before` is uncut. Top-k comes before top-p, as in the engines. */
export function distribution({ temperature, top_k, top_p }) {
  const before = softmax(TOKENS.map(([, logit]) => logit / Math.max(temperature, 0.01)));
  let kept = before.map((_, index) => !(temperature === 0 && index) && !(top_k > 0 && index >= top_k));
  const left = sum(before.filter((_, index) => kept[index]));
  let reached = 0;
  kept = kept.map((isKept, index) => {
    const stays = isKept && reached < top_p;  // the token that crosses top-p stays
    reached += before[index] / left;
    return stays;
  });
  const total = sum(before.filter((_, index) => kept[index]));
  return { before, after: before.map((share, index) => (kept[index] ? share / total : 0)) };
}

export function draw(svg, caption, settings) {
  const { before, after } = distribution(settings);
  if (!svg.firstChild) TOKENS.forEach(([token], index) => svg.append(row(token, index)));
  const most = Math.max(...after, ...before);
  TOKENS.forEach((_, index) => {
    const group = svg.children[index];
    group.classList.toggle("cut", !after[index]);
    group.querySelector(".before").setAttribute("width", String((WIDTH * before[index]) / most));
    group.querySelector(".after").setAttribute("width", String((WIDTH * after[index]) / most));
    group.querySelector(".share").textContent = after[index] ? percent(after[index]) : "\u2013";
  });
  const stay = after.filter(Boolean).length;
  caption.textContent = stay === 1
    ? "Only \u201cblue\u201d can follow."
    : `${stay} of ${TOKENS.length} tokens can follow; \u201cblue\u201d comes in ${percent(after[0])} of all cases.`;
}

function row(token, index) {
  const y = index * ROW;
  const group = element("g", {});
  group.append(
    text(token, { x: LEFT - 8, y: y + 14, "text-anchor": "end" }, "token"),
    element("rect", { x: LEFT, y: y + 3, height: ROW - 6, width: 0, rx: 3, class: "before" }),
    element("rect", { x: LEFT, y: y + 3, height: ROW - 6, width: 0, rx: 3, class: "after" }),
    text("", { x: 396, y: y + 14, "text-anchor": "end" }, "share"),
  );
  return group;
}

function element(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  return made;
}

function text(words, attributes, kind) {
  const made = element("text", { ...attributes, class: kind });
  made.textContent = words;
  return made;
}

function softmax(logits) {
  const most = Math.max(...logits);
  const powers = logits.map((logit) => Math.exp(logit - most));
  return powers.map((power) => power / sum(powers));
}

function percent(share) {
  return share < 0.01 ? "< 1 %" : `${Math.round(100 * share)} %`;
}

function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0);
}
