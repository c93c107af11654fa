/* The leaderboard's own script: which columns a table shows, and chosen models side by side. tables.js keeps the rest.

   All that is drawn is read from the table itself; texts become text nodes. The address has the choice:
   #t1.columns=2&t1.compare=gpt-4-1a2b,… &t1.shape=radar */
(() => {
  "use strict";
  const MOST = 8, NS = "http://www.w3.org/2000/svg";
  const { state } = globalThis.viva;
  const colour = (index) => getComputedStyle(document.documentElement).getPropertyValue(`--series-${index + 1}`).trim();
  const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  const make = (name, attributes, ...children) => {
    const element = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  };
  const short = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);

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
      this.table.dispatchEvent(new CustomEvent("viva:columns"));
    }
  }

  class Profile {
    constructor(figure) {
      this.figure = figure;
      this.table = document.getElementById(figure.dataset.profile);
      this.canvas = figure.querySelector(".canvas");
      this.key = `${this.table.id}.compare`;
      this.rows = new Map([...this.table.tBodies[0].rows].map((row) => [row.dataset.id, row]));
      this.table.tBodies[0].addEventListener("change", (event) => this.ticked(event.target));
      for (const button of figure.querySelectorAll("[data-shape]")) {
        button.addEventListener("click", () => {
          state.set(`${this.table.id}.shape`, button.dataset.shape === "bars" ? "" : button.dataset.shape);
          this.draw();
        });
      }
      for (const button of figure.querySelectorAll("[data-save]")) button.addEventListener("click", () => this.save(button.dataset.save));
      this.table.addEventListener("viva:columns", () => this.draw());
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
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
    series() {
      const group = this.table.dataset.group;
      const headers = [...this.table.tHead.rows[this.table.tHead.rows.length - 1].cells];
      const columns = headers.map((header, index) => [header, index]).filter(([header]) => header.classList.contains(`g${group}`));
      const chosen = this.chosen;
      const best = [...this.rows.values()].filter((row) => row.dataset.place).sort((a, b) => Number(a.dataset.place) - Number(b.dataset.place));
      const first = best.length ? best : [...this.rows.values()]; // where nobody has a rank
      const shown = chosen.length ? chosen.map((id) => this.rows.get(id)) : first.slice(0, 3);
      return {
        names: columns.map(([header]) => header.dataset.name),
        models: shown.map((row) => ({
          name: row.querySelector("th.name").textContent.trim(),
          values: columns.map(([, index]) => row.cells[index].querySelector("[data-range]") ? NaN : Number.parseFloat(row.cells[index].textContent)),
        })),
      };
    }
    draw() {
      const chosen = new Set(this.chosen);
      for (const [id, row] of this.rows) {
        const box = row.querySelector("input[type=checkbox]");
        if (box && box.checked !== chosen.has(id)) box.checked = chosen.has(id);
      }
      const radar = state.get(`${this.table.id}.shape`) === "radar";
      for (const button of this.figure.querySelectorAll("[data-shape]")) {
        button.setAttribute("aria-pressed", String((button.dataset.shape === "radar") === radar));
      }
      const { names, models } = this.series();
      // A radar of fewer than three axes is no shape.
      this.canvas.replaceChildren(radar && names.length > 2 ? this.radar(names, models) : this.bars(names, models));
    }
    frame(width, height, models) {
      const label = models.map((model) => model.name).join(", ");
      const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Scores of ${label}`, "font-family": "system-ui, sans-serif", "font-size": 12 });
      const columns = Math.max(1, Math.min(models.length, 3, Math.floor(width / 170)));
      models.forEach((model, index) => {
        const x = (index % columns) * (width / columns), y = 6 + Math.floor(index / columns) * 20;
        svg.append(make("rect", { x, y: y + 2, width: 12, height: 12, rx: 2, fill: colour(index) }));
        svg.append(make("text", { x: x + 18, y: y + 12, fill: token("ink") }, short(model.name, Math.floor(width / columns / 8) - 4)));
      });
      return [svg, 6 + Math.ceil(models.length / columns) * 20 + 12];
    }
    bars(names, models) {
      const width = Math.max(320, Math.min(960, this.canvas.clientWidth || 720));
      const left = Math.min(220, width * 0.36), right = 44, thick = models.length > 4 ? 7 : 10;
      const step = models.length * thick + 12;
      const [svg, top] = this.frame(width, 0, models);
      const height = top + names.length * step + 22;
      svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      const x = (value) => left + ((width - left - right) * value) / 100;
      for (let tick = 0; tick <= 100; tick += 20) {
        svg.append(make("line", { x1: x(tick), x2: x(tick), y1: top, y2: height - 20, stroke: token("line") }));
        svg.append(make("text", { x: x(tick), y: height - 5, "text-anchor": "middle", fill: token("quiet") }, tick === 100 ? "100 %" : String(tick)));
      }
      names.forEach((name, place) => {
        const y = top + place * step + 4;
        svg.append(make("text", { x: left - 8, y: y + (models.length * thick) / 2 + 4, "text-anchor": "end", fill: token("quiet") }, short(name, Math.floor(left / 6.6)), make("title", {}, name)));
        models.forEach((model, index) => {
          const value = model.values[place];
          if (Number.isNaN(value)) return;
          const bar = make("rect", { x: x(Math.min(0, value)), y: y + index * thick, width: Math.max(0.5, x(Math.abs(value)) - x(0)), height: thick - 1.5, fill: colour(index), rx: 1 });
          bar.append(make("title", {}, `${model.name}, ${name}: ${value.toFixed(1)} %`));
          svg.append(bar);
          if (thick >= 10) svg.append(make("text", { x: x(value) + 4, y: y + index * thick + 8, "font-size": 10, fill: token("quiet") }, value.toFixed(1)));
        });
      });
      return svg;
    }
    radar(names, models) {
      const width = Math.max(320, Math.min(720, this.canvas.clientWidth || 640));
      const [svg, top] = this.frame(width, 0, models);
      const radius = Math.min(200, width * 0.29), cx = width / 2, cy = top + radius + 30, height = cy + radius + 34;
      svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      const at = (place, value) => {
        const angle = (2 * Math.PI * place) / names.length - Math.PI / 2;
        const far = (radius * Math.max(0, value)) / 100;
        return [cx + far * Math.cos(angle), cy + far * Math.sin(angle)];
      };
      const ring = (value) => names.map((_, place) => at(place, value).map((one) => one.toFixed(1)).join(",")).join(" ");
      for (const value of [25, 50, 75, 100]) {
        svg.append(make("polygon", { points: ring(value), fill: "none", stroke: token("line") }));
        svg.append(make("text", { x: cx + 3, y: cy - (radius * value) / 100 - 2, "font-size": 10, fill: token("quiet") }, String(value)));
      }
      names.forEach((name, place) => {
        const [x, y] = at(place, 100), [tx, ty] = at(place, 113);
        svg.append(make("line", { x1: cx, y1: cy, x2: x, y2: y, stroke: token("line") }));
        const anchor = Math.abs(tx - cx) < 12 ? "middle" : tx > cx ? "start" : "end";
        const room = anchor === "middle" ? 24 : Math.floor((anchor === "start" ? width - tx : tx) / 6.4);
        svg.append(make("text", { x: tx, y: ty + 4, "text-anchor": anchor, "font-size": 11, fill: token("quiet") }, short(name, Math.max(3, room)), make("title", {}, name)));
      });
      models.forEach((model, index) => {
        const known = model.values.map((value, place) => [value, place]).filter(([value]) => !Number.isNaN(value));
        const points = known.map(([value, place]) => at(place, value).map((one) => one.toFixed(1)).join(",")).join(" ");
        svg.append(make("polygon", { points, fill: colour(index), "fill-opacity": 0.08, stroke: colour(index), "stroke-width": 2, "stroke-linejoin": "round" }));
        for (const [value, place] of known) {
          const [x, y] = at(place, value);
          svg.append(make("circle", { cx: x, cy: y, r: 3, fill: colour(index) }, make("title", {}, `${model.name}, ${names[place]}: ${value.toFixed(1)} %`)));
        }
      });
      return svg;
    }
    save(kind) {
      const svg = this.canvas.querySelector("svg").cloneNode(true);
      const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
      svg.setAttribute("xmlns", NS);
      svg.setAttribute("width", width);
      svg.setAttribute("height", height);
      svg.prepend(make("rect", { width, height, fill: token("paper") }));
      const blob = new Blob([new XMLSerializer().serializeToString(svg)], { type: "image/svg+xml" });
      if (kind === "svg") return this.download(blob, "models.svg");
      const picture = new Image();
      picture.addEventListener("load", () => {
        const canvas = document.createElement("canvas");
        [canvas.width, canvas.height] = [width * 2, height * 2];
        canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
        canvas.toBlob((made) => this.download(made, "models.png"), "image/png");
      });
      const reader = new FileReader();
      reader.addEventListener("load", () => { picture.src = reader.result; });
      return reader.readAsDataURL(blob);
    }
    download(blob, name) {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(blob);
      link.download = name;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    }
  }

  const start = () => {
    for (const select of document.querySelectorAll("select[data-groups]")) new Columns(select);
    for (const figure of document.querySelectorAll("figure[data-profile]")) new Profile(figure);
  };
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", start);
  else start();
})();
