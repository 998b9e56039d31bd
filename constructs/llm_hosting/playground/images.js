// The pictures of the message that is being written: chosen, dropped or pasted, scaled down to what a body holds.
import { at, make, makeButton } from "./page.js";
import { config } from "./deployment.js";

const PICTURE_KINDS = ["image/png", "image/jpeg", "image/webp", "image/gif"];
const FOR_TEXT = 16_384, SMALLER = 0.7, LEAST_SIDE = 32;

let pictures = [], told = () => {};

/** The pictures of the draft, as data: URLs. */
export function drafted() {
  return pictures;
}

export function setDrafted(given) {
  pictures = given;
  show();
}

/** Only pictures that the page itself could have made: others may come in by a link. */
export function onlyPictures(given) {
  return Array.isArray(given) ? given.filter((each) => /^data:image\/[a-z]+;base64,/.test(each)) : [];
}

/** The pictures of a turn, as elements. remove: what a click on one does; none if nothing. */
export function thumbnails(given, remove) {
  const row = make("div", "images");
  row.append(...given.map((url, index) => {
    const made = make("span", "thumbnail"), image = make("img");
    image.src = url;
    image.alt = `Picture ${index + 1}`;
    made.append(image);
    if (remove) made.append(makeButton("\u00d7", `Remove picture ${index + 1}`, () => remove(index)));
    return made;
  }));
  return row;
}

/** Connect the ways in. tell: gets a problem to show, "" for none. */
export function listenToImages(tell, changed) {
  if (!config.images) return;
  told = (problem) => { tell(problem); changed(); };
  at("add-image").addEventListener("click", () => at("image-file").click());
  at("image-file").addEventListener("change", () => {
    add(at("image-file").files);
    at("image-file").value = "";
  });
  at("chat-prompt").addEventListener("paste", (event) => {
    if (!event.clipboardData.files.length) return;
    event.preventDefault();
    add(event.clipboardData.files);
  });
  for (const name of ["dragenter", "dragover"]) at("chat-prompt").addEventListener(name, (event) => {
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    at("chat-prompt").classList.add("dropping");
  });
  for (const name of ["dragleave", "drop"]) at("chat-prompt").addEventListener(name, () => at("chat-prompt").classList.remove("dropping"));
  at("chat-prompt").addEventListener("drop", (event) => {
    event.preventDefault();
    add(event.dataTransfer.files);
  });
}

async function add(files) {
  for (const file of files) {
    const most = config.images.most ?? Infinity;
    if (pictures.length >= most) return told(`This deployment takes at most ${most} pictures in a request.`);
    const room = config.max_body_bytes - FOR_TEXT - pictures.join("").length;
    const url = await fitting(file, room).catch(() => null);
    if (!url) return told(`${file.name} is no picture that this browser reads, or too large for the body.`);
    pictures = [...pictures, url];
    show();
  }
  return told("");
}

/** The file itself if it fits, else a smaller copy as JPEG; null if not even a small one fits. */
async function fitting(file, room) {
  const bitmap = await createImageBitmap(file);
  if (PICTURE_KINDS.includes(file.type) && file.size * 4 / 3 + 40 < room) return read(file);
  for (let scale = Math.min(1, 2048 / Math.max(bitmap.width, bitmap.height)); ; scale *= SMALLER) {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [bitmap.width, bitmap.height].map((side) => Math.max(1, Math.round(side * scale)));
    const context = canvas.getContext("2d");
    context.fillStyle = "#fff";
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
    const url = canvas.toDataURL("image/jpeg", 0.85);
    if (url.length < room) return url;
    if (Math.max(canvas.width, canvas.height) < LEAST_SIDE) return null;
  }
}

function read(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}

function show() {
  at("images").replaceChildren(thumbnails(pictures, (index) => {
    pictures = pictures.filter((_, each) => each !== index);
    show();
    told("");
  }));
}
