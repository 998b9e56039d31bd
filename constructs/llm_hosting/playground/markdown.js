// Turns the Markdown that models write into elements. HTML stays text and pictures become links: nothing is loaded.
import { copyButton, make } from "./page.js";

const DEEPEST = 8;  // nested quotes and lists
// Each expression takes linear time: none may retry a run of signs from every one of its signs.
const FENCE = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})([^\n]*)$/, HEADING = /^ {0,3}(#{1,6})\s(.*)$/, RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const QUOTE = /^ {0,3}> ?/, ITEM = /^( *)([-*+]|\d{1,9}[.)])( {1,4}|$)(.*)$/, DASHES = /^[\s|:-]+$/;
const SPAN = /`+|\*\*|__|~~|\*|_|!?\[|\\[!-/:-@[-`{-~]/g;
const LINK = /!?\[([^[\]\n]{0,500})\]\(([^()\s]{1,2000}(?:\([^()\s]{0,200}\)[^()\s]{0,2000})?)(?: "[^"\n]{0,500}")?\)/y;
const TAGS = { "**": "strong", __: "strong", "*": "em", _: "em", "~~": "del" };

const sources = new WeakMap();  // the source of each child

/** Show a text that may still grow: elements whose source has not changed stay, with their focus and selection. */
export function render(box, text) {
  const before = sources.get(box) ?? [], blocks = blocksOf(text.split(/\r?\n/));
  sources.set(box, blocks.map(({ source }) => source));
  blocks.forEach(({ source, build }, index) => {
    if (index >= before.length) box.append(build());
    else if (source !== before[index]) box.children[index].replaceWith(build());
  });
  while (box.children.length > blocks.length) box.lastChild.remove();
}

function append(box, lines, depth) {
  box.append(...blocksOf(lines, depth).map(({ build }) => build()));
  return box;
}

/** The blocks of a text: the `source` of each, and how to `build` its element. */
function blocksOf(lines, depth = 0) {
  const blocks = [];
  for (let from = 0; from < lines.length;) {
    const [to, build] = lines[from].trim() ? blockAt(lines, from, depth) : [from + 1];
    if (build) blocks.push({ source: lines.slice(from, to).join("\n"), build });
    from = to;
  }
  return blocks;
}

/** Where the block ends that begins at a line, and how to build it. */
function blockAt(lines, from, depth) {
  const line = lines[from], fence = FENCE.exec(line), heading = HEADING.exec(line), mayNest = depth < DEEPEST;
  if (fence) {
    const end = new RegExp(`^ {0,3}${fence[1][0]}{${fence[1].length},}\\s*$`);
    const to = endOf(lines, from + 1, (each) => end.test(each));
    return [to + 1, () => codeBlock(lines.slice(from + 1, to).join("\n"), fence[2].trim())];
  }
  if (heading) {
    return [from + 1, () => spans(make(`h${Math.min(6, heading[1].length + 2)}`), heading[2].replace(/ #+$/, ""))];
  }
  if (RULE.test(line)) return [from + 1, () => make("hr")];
  if (QUOTE.test(line) && mayNest) {
    const to = endOf(lines, from, (each) => !QUOTE.test(each)), inner = lines.slice(from, to);
    return [to, () => append(make("blockquote"), inner.map((each) => each.replace(QUOTE, "")), depth + 1)];
  }
  if (ITEM.test(line) && mayNest) return listAt(lines, from, depth);
  if (isTable(lines, from)) {
    const to = endOf(lines, from + 2, (each) => !each.includes("|"));
    return [to, () => table(lines.slice(from, to))];
  }
  const to = endOf(lines, from + 1, (each, at) => !each.trim() || (mayNest && begins(each)) || isTable(lines, at));
  return [to, () => spans(make("p"), lines.slice(from, to).join("\n").trim())];
}

/** The first line from one on that ends a block. */
function endOf(lines, from, isEnd) {
  let to = from;
  while (to < lines.length && !isEnd(lines[to], to)) to += 1;
  return to;
}

/** Whether a line begins a block and so ends a paragraph. A list must begin with 1: other numbers are mostly years. */
function begins(line) {
  const number = ITEM.exec(line)?.[2];
  return [FENCE, HEADING, RULE, QUOTE].some((each) => each.test(line)) || (number && (!/\d/.test(number) || /^1\D/.test(number)));
}

function listAt(lines, from, depth) {
  const [, { length: indent }, marker] = ITEM.exec(lines[from]), isOrdered = /\d/.test(marker), items = [];
  let to = from, inset = 0;
  for (; to < lines.length; to += 1) {
    const line = lines[to], item = ITEM.exec(line), deep = line.length - line.trimStart().length;
    if (item && deep <= indent && !RULE.test(line)) {
      if (/\d/.test(item[2]) !== isOrdered || deep < indent) break;
      inset = line.length - item[4].length;
      items.push([item[4]]);
    } else if (!line.trim() || deep > indent) {
      items.at(-1).push(line.slice(Math.min(inset, deep)));
    } else if (begins(line) || !lines[to - 1].trim()) break;
    else items.at(-1).push(line);  // a line that continues without the indent
  }
  return [to, () => {
    const list = make(isOrdered ? "ol" : "ul");
    if (isOrdered) list.start = parseInt(marker, 10);
    list.append(...items.map((each) => append(make("li"), each, depth + 1)));
    return list;
  }];
}

/** Whether a table's first row is here. It also ends a paragraph: models often leave no blank line before it. */
function isTable(lines, at) {
  const below = lines[at + 1] ?? "";
  return lines[at].includes("|") && below.includes("|") && below.includes("-") && DASHES.test(below);
}

function table([head, , ...rows]) {
  const between = /(?<!\\)\|/, outer = /^\||(?<!\\)\|$/g;  // an escaped bar belongs to its cell
  const cells = (line) => line.trim().replace(outer, "").split(between).map((each) => each.trim().replaceAll("\\|", "|"));
  const row = (line, tag) => {
    const made = make("tr");
    made.append(...cells(line).map((each) => spans(make(tag), each)));
    return made;
  };
  const scroller = focusable(make("div", "table")), made = make("table");
  made.append(row(head, "th"), ...rows.map((each) => row(each, "td")));
  scroller.append(made);
  return scroller;
}

function codeBlock(code, language) {
  const block = make("div", "code"), head = make("div", "head"), box = focusable(make("pre"));
  head.append(make("span", "grow", language), copyButton("Copy this code", () => code));
  box.append(make("code", "", code));
  block.append(head, box);
  return block;
}

/** An element that may be wider than the page and can be scrolled by keys, too. */
function focusable(box) {
  box.tabIndex = 0;
  return box;
}

/** Text with `code`, **strong**, *em*, ~~del~~ and links. Each sign is looked for once, however hostile the text. */
function spans(box, text, depth = 0) {
  const missing = new Set(), next = new RegExp(SPAN);
  let from = 0, found;
  const take = (node, to) => {
    box.append(text.slice(from, found.index), node);
    next.lastIndex = from = to;
  };
  while ((found = next.exec(text))) {
    const [sign] = found, start = found.index + sign.length;
    if (sign[0] === "\\") take(sign[1], start);
    else if (sign.endsWith("[")) {
      LINK.lastIndex = found.index;
      const link = LINK.exec(text), href = link && webAddress(link[2]);
      if (href) take(linkTo(href, link[1] || link[2]), LINK.lastIndex);
    } else if (!missing.has(sign) && (sign[0] === "`" || depth < DEEPEST)) {
      const end = closing(text, sign, start);
      if (end < 0) missing.add(sign);
      else if (sign[0] === "`") take(make("code", "", text.slice(start, end).replace(/^ (.+) $/, "$1")), end + sign.length);
      else if (isSpan(text, sign, found.index, end)) {
        take(spans(make(TAGS[sign]), text.slice(start, end), depth + 1), end + sign.length);
      }
    }
  }
  box.append(text.slice(from));
  return box;
}

/** The next place of a sign that is not part of a longer one; -1 if there is none. */
function closing(text, sign, from) {
  const isIn = (index) => text[index] === sign[0];
  for (let end = text.indexOf(sign, from); end >= 0; end = text.indexOf(sign, end + 1)) {
    while (sign.length > 1 && isIn(end + sign.length) && sign[0] === "*") end += 1;  // **bold *and italic***
    if (sign.length > 1 && sign[0] !== "`") return end;
    if (!isIn(end - 1) && !isIn(end + sign.length)) return end;
    while (isIn(end)) end += 1;
  }
  return -1;
}

/** Whether two signs enclose text; those in "2 * 3 * 4" and snake_case_names do not. */
function isSpan(text, sign, start, end) {
  const first = text[start + sign.length], isWord = (each) => /[\p{L}\p{N}]/u.test(each ?? "");
  if (end <= start + sign.length || /\s/.test(first) || /\s/.test(text[end - 1])) return false;
  return sign[0] !== "_" || !(isWord(text[start - 1]) || isWord(text[end + sign.length]));
}

function webAddress(text) {
  try {
    const { protocol, href } = new URL(text);
    return ["http:", "https:"].includes(protocol) ? href : null;
  } catch {
    return null;
  }
}

function linkTo(href, words) {
  const link = make("a", "", words);
  link.href = href;
  link.title = href;
  link.target = "_blank";
  link.rel = "noopener noreferrer";
  return link;
}
