// Starts the page and connects each control to what it does.
import { at, copy, mark } from "./page.js";
import { call } from "./api.js";
import { listenToAnswers, listenToScrolling } from "./answers.js";
import { forgetTurns, listenToTurns } from "./chat.js";
import { apply, changed, chooseTab, current, fromFragment, kind, kinds, promptControls, toFragment } from "./controls.js";
import { config, isUnsigned, own, page, stored } from "./deployment.js";
import { showEndpoint, showNoEndpoint } from "./endpoint.js";
import { clearHistory, showHistory } from "./history.js";
import { listenToImages } from "./images.js";
import { hideError, showPhase } from "./progress.js";
import { OPEN_RUN, askAgain, carryOut, generate, isBusy, stop } from "./run.js";
import { showVectors } from "./vectors.js";

const KEY = "slipway-key";

start();

async function start() {
  try {
    Object.assign(config, (await call("GET", "playground/config.json")).content);
  } catch (error) {
    at("about").textContent = error.message;
    return;
  }
  at("model").textContent = config.model_id;
  document.title = `${config.model_id} \u00b7 Slipway playground`;
  const about = [config.engine, config.mode, config.deployment, config.answered_by];
  at("about").textContent = about.filter(Boolean).join(" \u00b7 ");
  const needsKey = config.auth === "api-key" && !config.signed_by_proxy;
  at("sign-in").hidden = !needsKey;
  at("unsigned").hidden = !isUnsigned();
  at("command").textContent = `slipway playground ${config.deployment ?? "<name>"}`;
  at("generate").disabled = isUnsigned();
  at("key").value = sessionStorage.getItem(own(KEY)) ?? "";
  at("kinds").hidden = kinds().length < 2;
  if (config.vectors) {
    listenToTheKey();
    showVectors(config.vectors, isUnsigned());
    delete document.body.dataset.loading;
    return isUnsigned() || (needsKey && !at("key").value) || showEndpoint();
  }
  listen();
  apply(fromFragment() ?? {});
  showHistory();
  delete document.body.dataset.loading;
  if (isUnsigned() || (needsKey && !at("key").value)) return;
  const open = stored(sessionStorage, OPEN_RUN);
  if (open?.setup && Array.isArray(open.jobs)) {
    apply(open.setup, true);
    carryOut(open.setup, open.jobs);
  } else showEndpoint();
}

function listen() {
  listenToScrolling();
  listenToTurns(askAgain, isBusy);
  listenToAnswers(goOn);
  listenToImages((problem) => mark(at("message"), at("message-hint"), problem), changed);
  at("form").addEventListener("submit", (event) => {
    event.preventDefault();
    if (!at("generate").disabled) generate();
  });
  at("form").addEventListener("input", (event) => {
    if (event.target.type === "range") event.target.previousElementSibling.value = event.target.value;
    changed();
  });
  at("form").addEventListener("keydown", (event) => {
    const isSent = event.target === at("message") ? !event.shiftKey && !event.isComposing : event.ctrlKey || event.metaKey;
    const isWritten = event.target.matches("textarea, input");
    if (event.key !== "Enter" || !isSent || !isWritten || event.target.closest("#turns")) return;
    event.preventDefault();
    if (!isBusy()) at("form").requestSubmit();
  });
  at("samples-list").addEventListener("click", ({ target }) => {
    if (!target.classList.contains("example")) return;
    const [area] = promptControls();
    area.value = target.textContent;
    changed();
    area.focus();
  });
  at("cancel").addEventListener("click", stop);
  at("reset").addEventListener("click", () => {
    history.replaceState(null, "", page);
    if (kind() === "chat") forgetTurns();
    else apply({ kind: "text" });
    hideError();
    showPhase("Nothing asked yet.");
    promptControls()[0].focus();
  });
  at("share").addEventListener("click", () => {
    const fragment = toFragment(current());
    history.replaceState(null, "", fragment);
    copy(at("share"), config.signed_by_proxy ? fragment : page + fragment);  // nobody else can use the proxy's URL
  });
  at("dice").addEventListener("click", () => {
    at("seed").value = String(crypto.getRandomValues(new Uint32Array(1))[0] % 1_000_000);
    changed();
  });
  at("show-picture").addEventListener("click", () => {
    at("picture-box").hidden = !at("picture-box").hidden;
    at("show-picture").setAttribute("aria-expanded", String(!at("picture-box").hidden));
  });
  listenToTheKey();
  at("tabs").addEventListener("click", (event) => {
    if (event.target.role === "tab") chooseTab(event.target);
  });
  at("tabs").addEventListener("keydown", (event) => {
    const tabs = [...at("tabs").querySelectorAll("[role=tab]:not([hidden])")], step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step && tabs.includes(event.target)) chooseTab(tabs.at((tabs.indexOf(event.target) + step) % tabs.length));
  });
  at("copy-code").addEventListener("click", () => copy(at("copy-code"), at("snippet").textContent));
  at("clear-history").addEventListener("click", clearHistory);
  window.addEventListener("hashchange", () => {
    const given = fromFragment();
    if (given && !isBusy()) apply(given);
  });
}

function listenToTheKey() {
  at("key").addEventListener("input", () => {
    sessionStorage.setItem(own(KEY), at("key").value.trim());
    mark(at("key"), at("key-hint"), "");
  });
  at("key").addEventListener("change", showEndpoint);
  at("forget").addEventListener("click", () => {
    sessionStorage.removeItem(own(KEY));
    at("key").value = "";
    showNoEndpoint("No key");
  });
}

/** Continue: a text takes its answer into the prompt; a chat asks for its last answer again. */
function goOn(how, setup, text) {
  if (how === "retry") return isBusy() || askAgain();
  apply({ ...setup, prompt: text.startsWith(setup.prompt) ? text : setup.prompt + text });
  return at("prompt").focus();
}
