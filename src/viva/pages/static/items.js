// The item browser: filters and sorts an index in columns, unpacks a chunk of texts when one is looked at, searches all.
// Every text of a run comes into the page by textContent. What is chosen stands in the address (viva.state of tables.js).
(() => {
  "use strict";
  const PAGE = 50, KEPT = 24, AHEAD = 4;
  const root = document.getElementById("items");
  if (!root) return;
  const $ = (name) => root.querySelector(`[data-part="${name}"]`);
  const make = (tag, options = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(options)) {
      if (name === "text") element.textContent = value;
      else if (name === "class") element.className = value;
      else element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  };
  const state = viva.state;
  const number = new Intl.NumberFormat("en");

  const unpack = viva.unpack;
  const chunks = new Map();
  function chunk(at) {
    let found = chunks.get(at);
    if (found) chunks.delete(at);
    else found = unpack(`items-${at}`);
    chunks.set(at, found); // the last one used is the last one to go
    if (chunks.size > KEPT) chunks.delete(chunks.keys().next().value);
    return found;
  }
  const chunkOf = (item) => {
    let low = 0, high = index.firsts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (index.firsts[middle] <= item) low = middle; else high = middle - 1;
    }
    return low;
  };
  const texts = async (item) => {
    const at = chunkOf(item), found = await chunk(at), own = found.items[item - index.firsts[at]], asked = found.asked[own.asked];
    return { ...own, ...asked, common: found.shared[asked.shared] ?? "" };
  };

  let index, heads = {}, total = 0, many = {}, shown = [], page = 0, opened = -1, searching = 0;
  const fields = [...$("filters").querySelectorAll("select, input")];
  const word = (name, item) => index.columns[name].words[index.columns[name].codes[item]];
  const value = (item) => (index.columns.value.codes[item] < 0 ? null : word("value", item));
  const permalink = (item) => ["exam", "model", "question"].map((name) => word(name, item)).concat(index.sample[item]).join("\t");

  // What is chosen, as an address of a served list says it: values of facets, words, where they are looked for, an order.
  function watch() {
    let waiting;
    for (const field of fields) {
      const chosen = () => { state.set(field.name, field.value); refresh(true); };
      if (field.type === "search") field.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(chosen, 250); });
      else field.addEventListener("change", chosen);
    }
    $("reset").addEventListener("click", () => {
      for (const key of [...Object.keys(index.columns), ...fields.map(({ name }) => name), "page"]) state.set(key, "");
      restore();
    });
  }
  function restore() {
    for (const field of fields) {
      const value = state.get(field.name);
      field.value = value;
      if (value && field.value !== value) { // several values, or one that no item has
        const keys = value.split(","), { keys: known, words } = index.columns[field.name] ?? { keys: [], words: [] };
        field.append(make("option", { value, text: keys.map((key) => words[known.indexOf(key)] ?? key).join(" or ") }));
        field.value = value;
      }
    }
    for (const tags of $("filters").querySelectorAll("details")) tags.open ||= [...tags.querySelectorAll("select")].some((one) => one.value);
    page = Math.max(0, (Number.parseInt(state.get("page"), 10) || 1) - 1);
    refresh(false);
    const wanted = state.get("item");
    if (!wanted) { if (opened >= 0) close(false); return; }
    if (opened >= 0 && permalink(opened) === wanted) return;
    for (let item = 0; item < total; item += 1) if (permalink(item) === wanted) { open(item, false); return; }
    close(false);
    say(`This report has no item ${wanted.replaceAll("\t", " · ")}.`);
  }

  const chosen = () => {
    const picks = state.keys().filter((key) => ["exam", "model", "outcome", "finer"].includes(key) || key.startsWith("t."))
      .map((key) => ({ codes: index.columns[key]?.codes ?? [], any: new Set(state.get(key).split(",").map((one) => index.columns[key]?.keys.indexOf(one)).filter((code) => code >= 0)) }));
    const found = [];
    for (let item = 0; item < total; item += 1) if (picks.every(({ codes, any }) => any.has(codes[item]))) found.push(item);
    return found;
  };
  // What has no score comes last.
  function sorted(items) {
    const by = { lowest: (item) => value(item) ?? 2, highest: (item) => -(value(item) ?? -2) }[state.get("sort")];
    if (!by) return items;
    const keys = new Float64Array(total);
    for (const item of items) keys[item] = by(item);
    return items.sort((a, b) => keys[a] - keys[b] || a - b);
  }

  // Search
  const folded = (text) => text.normalize("NFKC").toLowerCase();
  const parts = () => [...state.get("q").matchAll(/"([^"]+)"|(\S+)/g)].map((found) => folded(found[1] ?? found[2]));
  const text = (own) => folded([own.about, own.reply, [...own.answer.slice(0, 200)].slice(0, 80).join(""), own.gold].filter(Boolean).join("\n"));
  async function search(items, wanted, turn) {
    const by = new Map(), hits = new Set();
    for (const item of items) { const at = chunkOf(item); if (by.has(at)) by.get(at).push(item); else by.set(at, [item]); }
    let done = 0, told = performance.now();
    const queue = [...by.keys()];
    const pending = queue.slice(0, AHEAD).map((at) => chunks.get(at) ?? unpack(`items-${at}`));
    for (const [place, at] of queue.entries()) {
      const found = await pending[place];
      pending[place] = null;
      if (turn !== searching) return null;
      const next = queue[place + AHEAD];
      if (next !== undefined) pending.push(chunks.get(next) ?? unpack(`items-${next}`));
      for (const item of by.get(at)) {
        const said = found.items[item - index.firsts[at]];
        const own = text({ ...said, ...found.asked[said.asked] });
        if (wanted.every((one) => own.includes(one))) hits.add(item);
      }
      done += by.get(at).length;
      if (performance.now() - told > 250) {
        told = performance.now();
        say(`Searching: ${Math.round((100 * done) / items.length)} %, ${number.format(hits.size)} found`);
      }
    }
    return hits;
  }

  // The list
  const say = (text) => { $("count").textContent = text; };
  async function refresh(first) {
    searching += 1;
    const turn = searching, wanted = parts();
    if (first) { page = 0; state.set("page", ""); }
    let items = chosen();
    if (wanted.length) {
      say("Searching …");
      root.setAttribute("aria-busy", "true");
      const hits = await search(items, wanted, turn).catch((problem) => { say(`The search failed: ${problem.message}`); return null; });
      if (turn !== searching) return;
      root.removeAttribute("aria-busy");
      if (!hits) return;
      items = items.filter((item) => hits.has(item));
    }
    shown = sorted(items);
    page = Math.min(page, Math.max(0, Math.ceil(shown.length / PAGE) - 1));
    list();
  }
  function outcomeMark(item) {
    const outcome = word("outcome", item);
    return make("span", { class: `outcome is-${outcome.replaceAll(" ", "-")}`, text: outcome });
  }
  const score = (item) => (value(item) === null ? "–" : number.format(Math.round(10000 * value(item)) / 100));
  function list() {
    const from = page * PAGE, until = Math.min(shown.length, from + PAGE);
    $("list").replaceChildren(...shown.slice(from, until).map((item) => {
      const head = heads[`${word("exam", item)}\t${word("question", item)}`];
      const link = make("a", { href: `#${new URLSearchParams({ item: permalink(item) })}`, "data-item": item });
      link.append(outcomeMark(item), make("b", { class: "points", text: score(item) }), make("span", { class: "head", text: head || word("question", item) }));
      const about = [head ? word("question", item) : "", many.model ? word("model", item) : "", many.exam ? word("exam", item) : "", many.sample ? `sample ${index.sample[item] + 1}` : ""];
      link.append(make("span", { class: "about", text: about.filter(Boolean).join(" · ") }));
      if (item === opened) link.setAttribute("aria-current", "true");
      link.addEventListener("click", (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        open(item, true);
      });
      return make("li", {}, link);
    }));
    const pages = Math.max(1, Math.ceil(shown.length / PAGE));
    say(shown.length === total ? `${number.format(total)} items` : `${number.format(shown.length)} of ${number.format(total)} items`);
    $("place").textContent = `page ${number.format(page + 1)} of ${number.format(pages)}`;
    $("previous").disabled = page === 0;
    $("next").disabled = page >= pages - 1;
    $("pager").hidden = pages === 1;
    root.dataset.ready = "true";
  }
  function turnPage(by) {
    page += by;
    state.set("page", page ? String(page + 1) : "");
    list();
    $("list").scrollTop = 0;
  }

  // One item
  const visible = (text) => viva.visible(text ?? "");
  function field(title, text, options = {}) {
    const block = make("div", { class: `field ${options.class ?? ""}` }, make("h4", { text: title }));
    block.append(make("div", { class: "text", text: visible(text) || "–", dir: "auto" }));
    return block;
  }
  const asItCame = () => state.get("view") === "text";
  function replyOf(own) {
    const block = field("Answer", own.reply), text = block.querySelector(".text");
    if (own.cut) text.append(`\n… (${number.format(own.cut)} more characters, in the run's responses.jsonl)`);
    if (own.span) {
      const [start, end] = own.span;
      text.replaceChildren(visible(own.reply.slice(0, start)), make("mark", { class: "read", text: visible(own.reply.slice(start, end)) }), visible(own.reply.slice(end)));
    }
    const made = viva.prose?.(text);
    if (!made) return block;
    if (!asItCame()) text.replaceWith(made);
    const other = make("button", { type: "button", class: "small", "data-part": "view", text: asItCame() ? "Rendered" : "As it came" });
    other.addEventListener("click", turnView);
    block.querySelector("h4").append(" ", other);
    return block;
  }
  async function turnView() {
    state.set("view", asItCame() ? "" : "text");
    if (opened < 0) return;
    const top = $("item").scrollTop;
    await open(opened);
    $("item").scrollTop = top;
    $("view")?.focus({ preventScroll: true });
  }
  async function open(item, byHand) {
    state.set("item", permalink(item), byHand && opened < 0);
    opened = item;
    for (const link of $("list").querySelectorAll("[aria-current]")) link.removeAttribute("aria-current");
    $("list").querySelector(`[data-item="${item}"]`)?.setAttribute("aria-current", "true");
    root.classList.add("opened");
    let own;
    try {
      own = await texts(item);
    } catch (problem) {
      own = { failure: `The texts of this item cannot be read: ${problem.message}` };
    }
    if (opened !== item) return;
    const head = heads[`${word("exam", item)}\t${word("question", item)}`];
    $("title").textContent = head || word("question", item);
    const facts = [...(head ? [["Question", word("question", item)]] : []), ["Exam", word("exam", item)], ["Model", word("model", item)], ["Sample", index.sample[item] + 1 + (own.repeat ? `, repeat ${own.repeat + 1}` : "")], ...Object.entries(own.tags ?? {})];
    if (own.weight) facts.push(["counts", `${own.weight} times`]);
    $("facts").replaceChildren(...facts.map(([name, value]) => make("div", {}, make("dt", { text: name }), make("dd", { text: String(value) }))));
    $("verdict").replaceChildren(outcomeMark(item), make("b", { text: value(item) === null ? "not scored" : `${score(item)} of 100` }));
    if (index.columns.finer.codes[item] >= 0) $("verdict").append(make("span", { class: "quiet", text: word("finer", item) }));
    const prompt = make("div", { class: "field" }, make("h4", { text: "Prompt" }));
    if (own.common) {
      prompt.append(make("details", {}, make("summary", { text: `Instructions and examples before it (${number.format(own.common.length)} characters)` }), make("div", { class: "text", text: visible(own.common), dir: "auto" })));
    }
    if (own.common || own.prompt) prompt.append(make("div", { class: "text", text: visible(own.prompt), dir: "auto" }));
    else prompt.append(make("p", { class: "quiet", text: "The questions were not at hand when this report was made." }));
    const answer = own.failure ? field("No answer", own.failure, { class: "failed" }) : replyOf(own);
    if (own.thought) answer.querySelector("h4").after(make("details", { class: "thought" }, make("summary", { text: `Thought before it (${own.thought_size})` }), make("div", { class: "text", text: visible(own.thought), dir: "auto" })));
    else if (own.thought_size) answer.querySelector("h4").after(make("p", { class: "quiet", text: `Thought before it: ${own.thought_size}, of which no text is kept.` }));
    if (own.ended) answer.append(make("p", { class: "quiet", text: `It was ${own.ended}.` }));
    const pair = make("div", { class: "pair" }, field("Read", own.answer), ...(own.gold === undefined ? [] : [field("Gold", own.gold, { class: "gold" })]));
    const evidence = (own.found ?? []).map(([who, said]) => field(visible(who), said, { class: "evidence" }));
    $("body").replaceChildren(prompt, answer, pair, ...(own.why ? [field("Why", own.why)] : []), ...evidence);
    $("item").hidden = false;
    $("item").scrollTop = 0;
    const place = shown.indexOf(item);
    $("before").disabled = place <= 0;
    $("after").disabled = place < 0 || place >= shown.length - 1;
    highlight();
    if (byHand) $("title").focus({ preventScroll: false });
    else if (byHand === false && !root.dataset.arrived) { root.dataset.arrived = "true"; root.scrollIntoView(); }
  }
  function close(byHand) {
    const last = opened;
    opened = -1;
    $("item").hidden = true;
    root.classList.remove("opened");
    const link = $("list").querySelector(`[data-item="${last}"]`);
    link?.removeAttribute("aria-current");
    if (byHand) { state.set("item", ""); (link ?? fields[0]).focus(); }
  }
  function step(by) {
    const place = shown.indexOf(opened) + by;
    if (place < 0 || place >= shown.length) return;
    const wanted = Math.floor(place / PAGE);
    if (wanted !== page) turnPage(wanted - page);
    open(shown[place], true);
  }
  function highlight() {
    if (!window.Highlight || !CSS.highlights) return;
    CSS.highlights.delete("found");
    const wanted = parts(), ranges = [];
    if (!wanted.length) return;
    const walker = document.createTreeWalker($("body"), NodeFilter.SHOW_TEXT);
    while (walker.nextNode() && ranges.length < 500) {
      const text = walker.currentNode.data.toLowerCase();
      for (const one of wanted) {
        for (let at = text.indexOf(one); at >= 0 && ranges.length < 500; at = text.indexOf(one, at + one.length)) {
          if (at + one.length > walker.currentNode.length) break;
          const range = new Range();
          range.setStart(walker.currentNode, at);
          range.setEnd(walker.currentNode, at + one.length);
          ranges.push(range);
        }
      }
    }
    if (ranges.length) CSS.highlights.set("found", new Highlight(...ranges));
  }

  function keys(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.closest?.("input, select, textarea");
    if (event.key === "Escape" && opened >= 0 && (!typing || root.contains(typing))) { close(true); return; }
    if (typing) return;
    if (event.key === "/") { event.preventDefault(); fields[0].focus(); return; }
    if (!root.contains(event.target)) return;
    if (opened >= 0 && event.key === "r") { turnView(); return; }
    if (opened >= 0 && (event.key === "j" || event.key === "k")) { step(event.key === "j" ? 1 : -1); return; }
    const link = event.target.closest?.("[data-item]");
    if (link && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      const row = event.key === "ArrowDown" ? link.parentElement.nextElementSibling : link.parentElement.previousElementSibling;
      row?.firstElementChild.focus();
    }
  }

  async function start() {
    if (typeof DecompressionStream === "undefined") { say("This browser cannot unpack the items; take a newer one (Chrome 80, Firefox 113, Safari 16.4)."); return; }
    index = viva.readIndex();
    total = index.sample.length;
    many = { exam: index.columns.exam.words.length > 1, model: index.columns.model.words.length > 1, sample: index.sample.some((one) => one > 0) };
    watch();
    $("previous").addEventListener("click", () => turnPage(-1));
    $("next").addEventListener("click", () => turnPage(1));
    $("before").addEventListener("click", () => step(-1));
    $("after").addEventListener("click", () => step(1));
    $("close").addEventListener("click", () => close(true));
    addEventListener("keydown", keys);
    addEventListener("viva:prose", () => { if (opened >= 0) open(opened); });
    // An anchor of the page ("#methods") is no choice of items.
    state.listen(() => { if (!location.hash || location.hash.includes("=")) restore(); });
    restore();
    heads = await unpack("items-heads");
    list();
    if (opened >= 0) open(opened); // with its question as the title
  }
  start().catch((problem) => say(`The items cannot be read: ${problem.message}`));
})();
