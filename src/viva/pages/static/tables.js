/* Tables that are sorted, searched and filtered in the page; what is chosen stands in the address, so that a link shows the same.

   <table id="T" data-sortable>             Every header of the last header row becomes a button. A cell is compared by its
                                            data-value (a number or a word), else by its text; empty cells come last both ways.
       <th data-column="score">             The column's name in the address (else its number); data-sort="none": no button;
                                            data-sort="descending": which way the first click sorts (figures: descending).
   <input data-filter="T">                  Rows that hold every one of these words (in their text, or their data-search).
   <select data-filter="T" data-filter-column="family">   Rows whose data-family, else whose cell in that column, is the value;
                                            with data-range the values are "low..high", else those that rows have.
   <output data-count="T">                  "12 of 85 rows".   <button data-reset="T">: all rows, in the order of the page.

   The address: #T.sort=score.descending&T.q=words&T.family=Llama. Other scripts keep their own choices there with
   viva.state.get(key) and viva.state.set(key, value), hear of others' with viva.state.listen(f), and of a table's rows by
   its event "viva:rows" (detail.shown: how many). Nothing here makes markup out of text. */
(() => {
  "use strict";
  const listeners = [];

  const read = () => {
    const text = location.hash.slice(1);
    return new URLSearchParams(text.includes("=") ? text : "");
  };
  const state = {
    get: (key) => read().get(key) ?? "",
    // `push`: the back button returns to what was chosen before.
    set: (key, value, push = false) => {
      const all = read();
      if (value === "") all.delete(key);
      else all.set(key, value);
      const text = all.toString();
      history[push ? "pushState" : "replaceState"](null, "", text ? `#${text}` : location.pathname + location.search);
    },
    keys: () => [...read().keys()],
    listen: (f) => listeners.push(f),
  };
  addEventListener("hashchange", () => { for (const f of listeners) f(); });

  const sameText = (text) => text.normalize("NFKC").toLocaleLowerCase();
  const keyOf = (cell) => {
    if (!cell) return null;
    const text = (cell.dataset.value ?? cell.textContent).trim();
    if (text === "" || text === "–") return null;
    const number = Number(text);
    return Number.isNaN(number) ? sameText(text) : number;
  };
  const words = new Intl.Collator(undefined, { numeric: true });
  const compare = (a, b) => {
    if (typeof a === "number" && typeof b === "number") return a - b;
    if (typeof a === typeof b) return words.compare(a, b);
    return typeof a === "number" ? -1 : 1;
  };

  class SortableTable {
    constructor(table) {
      this.table = table;
      this.id = table.id;
      this.body = table.tBodies[0];
      this.rows = [...this.body.rows];
      this.texts = null;
      this.headers = [...(table.tHead?.rows[table.tHead.rows.length - 1]?.cells ?? [])];
      this.fields = [...document.querySelectorAll("[data-filter]")].filter((one) => one.dataset.filter === this.id);
      this.counts = [...document.querySelectorAll("[data-count]")].filter((one) => one.dataset.count === this.id);
      this.sorted = "";
      this.headers.forEach((header, index) => this.button(header, index));
      for (const field of this.fields) {
        field.addEventListener(field.tagName === "SELECT" ? "change" : "input", () => this.asked(field));
        if (field.dataset.filterColumn) this.offer(field);
      }
      for (const reset of document.querySelectorAll("[data-reset]")) {
        if (reset.dataset.reset === this.id) reset.addEventListener("click", () => this.reset());
      }
      state.listen(() => this.restore());
      this.restore();
    }
    offer(field) {
      const own = new Set(this.rows.map((row) => row.getAttribute(`data-${field.dataset.filterColumn}`)).filter(Boolean));
      if (!("range" in field.dataset)) field.append(...[...own].sort(words.compare).map((value) => new Option(value.slice(0, 60), value)));
      field.closest("p").hidden = own.size < 2;
    }
    name(index) { return this.headers[index].dataset.column || String(index); }
    key(field) { return `${this.id}.${field.dataset.filterColumn || "q"}`; }

    button(header, index) {
      if (header.dataset.sort === "none") return;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...header.childNodes);
      header.append(button);
      header.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        const now = header.getAttribute("aria-sort");
        const next = now === "ascending" ? "descending" : now === "descending" ? "ascending" : this.first(index);
        state.set(`${this.id}.sort`, `${this.name(index)}.${next}`);
        this.sort();
      });
    }
    /* Which way the first click sorts: the best figure first, names from A to Z. */
    first(index) {
      const said = this.headers[index].dataset.sort;
      if (said) return said;
      const known = this.rows.map((row) => keyOf(row.cells[index])).find((key) => key !== null);
      return typeof known === "number" ? "descending" : "ascending";
    }
    sort() {
      const asked = state.get(`${this.id}.sort`);
      if (asked === this.sorted) return;
      this.sorted = asked;
      const at = asked.lastIndexOf("."), way = asked.slice(at + 1);
      const index = this.headers.findIndex((header, place) => header.dataset.sort !== "none" && this.name(place) === asked.slice(0, at));
      const known = index >= 0 && (way === "ascending" || way === "descending");
      this.headers.forEach((header, place) => {
        if (header.dataset.sort !== "none") header.setAttribute("aria-sort", known && place === index ? way : "none");
      });
      let ordered = this.rows;
      if (known) {
        const sign = way === "ascending" ? 1 : -1;
        ordered = this.rows.map((row) => [keyOf(row.cells[index]), row])
          .sort(([a], [b]) => (a === null || b === null ? (a === null) - (b === null) : sign * compare(a, b)))
          .map(([, row]) => row);
      }
      this.body.append(...ordered);
      this.tell();
    }
    asked(field) {
      clearTimeout(this.waiting);
      this.waiting = setTimeout(() => {
        state.set(this.key(field), field.value);
        this.filter();
      }, field.tagName === "SELECT" ? 0 : 80);
    }
    filter() {
      this.texts ??= this.rows.map((row) => sameText(row.dataset.search ?? row.textContent));
      const tests = this.fields.filter((field) => field.value.trim() !== "").map((field) => this.test(field));
      this.shown = 0;
      this.rows.forEach((row, place) => {
        const fits = tests.every((test) => test(row, this.texts[place]));
        row.hidden = !fits;
        this.shown += fits;
      });
      this.tell();
    }
    test(field) {
      const column = field.dataset.filterColumn, wanted = field.value;
      if (!column) {
        const parts = sameText(wanted).split(/\s+/).filter(Boolean);
        return (row, text) => parts.every((part) => text.includes(part));
      }
      const index = this.headers.findIndex((header, place) => this.name(place) === column);
      const value = (row) => row.getAttribute(`data-${column}`) ?? row.cells[index]?.dataset.value ?? row.cells[index]?.textContent.trim() ?? "";
      if (!("range" in field.dataset)) return (row) => value(row) === wanted;
      const [low, high] = wanted.split("..");
      return (row) => {
        const text = value(row);
        return text !== "" && Number(text) >= Number(low) && Number(text) <= Number(high);
      };
    }
    reset() {
      for (const field of this.fields) { field.value = ""; state.set(this.key(field), ""); }
      state.set(`${this.id}.sort`, "");
      this.sort();
      this.filter();
    }
    /* What the address says; a choice that a select does not have is none. */
    restore() {
      for (const field of this.fields) {
        const wanted = state.get(this.key(field));
        if (document.activeElement !== field || field.value !== wanted) field.value = wanted;
        if (field.tagName === "SELECT" && field.selectedIndex < 0) field.value = "";
      }
      this.sort();
      this.filter();
    }
    tell() {
      const shown = this.shown ?? this.rows.length, all = this.rows.length;
      for (const count of this.counts) count.textContent = shown === all ? `${all} row${all === 1 ? "" : "s"}` : `${shown} of ${all} rows`;
      this.table.dispatchEvent(new CustomEvent("viva:rows", { detail: { shown } }));
    }
  }

  // j and k walk the lines of a list, where the page has no item of its own to go on from.
  addEventListener("keydown", (event) => {
    if (!["j", "k"].includes(event.key) || event.ctrlKey || event.altKey || event.metaKey || event.target.closest?.("input:not([type=checkbox]), select, textarea")) return;
    if (document.querySelector("#next, #previous, #marks, .opened")) return;
    const links = [...document.querySelectorAll(".rows li > a, .list li > a, tbody th.name a")].filter((link) => link.offsetParent);
    const here = links.indexOf(document.activeElement), link = links[here + (event.key === "j" ? 1 : here < 0 ? 1 : -1)];
    link?.focus();
    if (link) event.preventDefault();
  });

  globalThis.viva = Object.assign(globalThis.viva ?? {}, { state });
  document.documentElement.classList.add("scripted");
  const start = () => { for (const table of document.querySelectorAll("table[data-sortable]")) new SortableTable(table); };
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", start);
  else start();
})();
