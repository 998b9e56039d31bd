// The deployment behind the page: its configuration, and what this browser keeps for it.
import { at } from "./page.js";

export const page = new URL(".", location.href).href;

/** The content of playground/config.json, read once at the start. */
export const config = {};

export function isUnsigned() {
  return config.auth === "iam" && !config.signed_by_proxy;
}

export function key() {
  return at("key").value.trim();
}

/** The name in storage: other stages and deployments may share the origin, and the proxy's token must not be in it. */
export function own(name) {
  return `${name} ${config.signed_by_proxy ? config.deployment : new URL(page).pathname}`;
}

export function stored(storage, name) {
  try {
    return JSON.parse(storage.getItem(own(name)));
  } catch {
    return null;
  }
}

/** Store a value; returns whether there was room. */
export function store(storage, name, value) {
  try {
    storage.setItem(own(name), JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}
