/* The leaderboard's own script: which columns a table shows, and a chart of chosen models. tables.js keeps the rest, and
   charts.js draws. All is read from the table itself. The address has the choice: #t1.columns=2&t1.compare=gpt-4-1a2b,… */
(() => {
  "use strict";
  const MOST = 8;
  const { state } = globalThis.viva;

  class Columns {
    constructor(select) {
      this.select = select;
      this.table = document.getElementById(select.dataset.groups);
      this.key = `${this.table.id}.columns`;
      select.addEventListener("change", () => { state.set(this.key, select.value === "0" ? "" : select.value); this.show(); });
      state.listen(() => this.show());
      this.show();
    }
    show() {
      const wanted = state.get(this.key) || "0";
      const known = [...this.select.options].some((option) => option.value === wanted) ? wanted : "0";
      this.select.value = known;
      this.table.dataset.group = known;
      for (const cell of this.table.querySelectorAll("th, td")) cell.hidden = [...cell.classList].some((name) => /^g\d+$/.test(name) && name !== `g${known}`);
      this.table.dispatchEvent(new CustomEvent("viva:columns"));
    }
  }

  class Profile {
    constructor(figure) {
      this.figure = figure;
      this.table = document.getElementById(figure.dataset.profile);
      this.key = `${this.table.id}.compare`;
      this.rows = new Map([...this.table.tBodies[0].rows].map((row) => [row.dataset.id, row]));
      this.table.tBodies[0].addEventListener("change", (event) => this.ticked(event.target));
      this.table.addEventListener("viva:columns", () => this.draw());
      state.listen(() => this.draw());
      this.draw();
    }
    get chosen() { return state.get(this.key).split(",").filter((id) => this.rows.has(id)).slice(0, MOST); }

    ticked(box) {
      if (box.type !== "checkbox") return;
      const id = box.closest("tr").dataset.id;
      const rest = this.chosen.filter((one) => one !== id);
      state.set(this.key, (box.checked ? [...rest, id].slice(-MOST) : rest).join(","));
      this.draw();
    }
    /* A bar for each shown column and chosen model; without a choice the three best. */
    values() {
      const headers = [...this.table.tHead.rows[this.table.tHead.rows.length - 1].cells];
      const columns = headers.map((header, index) => [header, index]).filter(([header]) => header.classList.contains(`g${this.table.dataset.group}`));
      const best = [...this.rows.values()].filter((row) => row.dataset.place).sort((a, b) => Number(a.dataset.place) - Number(b.dataset.place));
      const first = best.length ? best : [...this.rows.values()]; // where nobody has a rank
      const shown = this.chosen.length ? this.chosen.map((id) => this.rows.get(id)) : first.slice(0, 3);
      const scored = (cell) => (cell.querySelector("[data-range]") ? NaN : Number.parseFloat(cell.textContent));
      const names = shown.map((row) => row.querySelector("th.name").textContent.trim());
      const named = (place) => names.slice(0, place).filter((name) => name === names[place]).map((name, times) => ` (${times + 2})`).at(-1) ?? ""; // bars of one name would be added up
      return shown.flatMap((row, place) => columns.map(([header, index]) => ({
        model: names[place] + named(place), of: header.dataset.name, score: scored(row.cells[index]),
      }))).filter(({ score }) => !Number.isNaN(score));
    }
    draw() {
      const chosen = new Set(this.chosen);
      for (const [id, row] of this.rows) {
        const box = row.querySelector("input[type=checkbox]");
        if (box && box.checked !== chosen.has(id)) box.checked = chosen.has(id);
      }
      const values = this.values(), least = Math.min(0, ...values.map(({ score }) => score));
      const models = [...new Set(values.map(({ model }) => model))];
      this.figure.chart = {
        $schema: "https://vega.github.io/schema/vega-lite/v6.json", data: { values }, width: "container", autosize: { type: "fit-x", contains: "padding" }, height: { step: models.length > 4 ? 8 : 11, for: "offset" }, mark: "bar",
        encoding: {
          y: { field: "of", type: "nominal", sort: null, title: null }, yOffset: { field: "model", sort: models },
          x: { field: "score", type: "quantitative", title: "score, per cent", scale: { domain: [least, 100] }, axis: least < 0 ? { labelExpr: "datum.value ? format(datum.value, '+~g') : '0'" } : {} },
          color: { field: "model", type: "nominal", sort: models, title: null, legend: { orient: "top", columns: 1 } },
          tooltip: ["model", "of", "score"].map((field) => ({ field })),
        },
      };
      globalThis.vivaCharts?.draw(this.figure);
    }
  }

  const start = () => {
    for (const select of document.querySelectorAll("select[data-groups]")) new Columns(select);
    for (const figure of document.querySelectorAll("figure[data-profile]")) new Profile(figure);
  };
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", start);
  else start();
})();
