// Elements of the page: find, make, copy. Texts become text nodes only.

export const at = (id) => document.getElementById(id);

export function make(tag, kind = "", words = "") {
  const made = document.createElement(tag);
  if (kind) made.className = kind;
  made.textContent = words;
  return made;
}

/** Make a button. label: its words for screen readers, with what it belongs to; "" if the words suffice. */
export function makeButton(words, label, act) {
  const button = make("button", "", words);
  button.type = "button";
  if (label) button.setAttribute("aria-label", label);
  button.addEventListener("click", () => act(button));
  return button;
}

/** Make a button that copies a text. text: a function that returns it. */
export function copyButton(label, text) {
  return makeButton("Copy", label, (button) => copy(button, text()));
}

export async function copy(button, text) {
  const before = button.dataset.words ??= button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not copied";
  }
  setTimeout(() => { button.textContent = before; }, 1500);
}

/** Show the problem of a control, or its explanation. */
export function mark(input, hint, problem) {
  hint.dataset.hint ??= hint.textContent;
  hint.textContent = problem || hint.dataset.hint;
  hint.classList.toggle("wrong", Boolean(problem));
  input.setAttribute("aria-invalid", String(Boolean(problem)));
}
