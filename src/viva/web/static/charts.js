// Draws every figure[data-chart], whose first child is a script of type application/json (a Vega-Lite specification), or
// which has that as its property `chart`.
// Colours follow the reader's scheme; exported pictures are always light, for paper. Texts stay texts: a tooltip is
// made of text nodes, no data is loaded from anywhere, and expressions are interpreted (`ast`), never compiled.
"use strict";
(() => {
  // Where a page demands trusted types: the library empties elements by `innerHTML = ""`, and may do no more than that.
  if (window.trustedTypes && !trustedTypes.defaultPolicy) {
    trustedTypes.createPolicy("default", { createHTML: (markup) => (markup === "" ? "" : null) });
  }
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const configs = window.vivaChartConfig;
  const drawn = new Map();
  const refuse = async () => { throw new Error("this page loads nothing"); };

  const tip = document.createElement("div");
  tip.className = "chart-tip";
  tip.hidden = true;
  tip.setAttribute("role", "tooltip");
  document.body.append(tip);

  const text = (tag, content) => {
    const element = document.createElement(tag);
    element.textContent = content;
    return element;
  };

  function showTip(handler, event, item, value) {
    if (value === null || value === undefined || value === "") { tip.hidden = true; return; }
    const rows = typeof value === "object"
      ? Object.entries(value).filter(([, found]) => found !== undefined && found !== null && found !== "")
      : [["", value]];
    tip.replaceChildren(...rows.map(([name, found]) => {
      const row = document.createElement("div");
      if (name && name !== "title") row.append(text("span", name));
      row.append(text("b", String(found)));
      return row;
    }));
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const left = Math.min(event.clientX + 14, innerWidth - box.width - 8);
    const below = event.clientY + 18;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${below + box.height > innerHeight - 8 ? Math.max(8, event.clientY - box.height - 12) : below}px`;
  }

  // A long title must not make the picture narrow; on a telephone names of models must leave room for their dots.
  const fitted = (config, width, dots) => {
    const titled = { ...config, title: { ...config.title, limit: Math.max(200, width - 40) }, legend: { ...config.legend, columns: width < 700 ? 1 : 2, ...(width < 700 && { labelLimit: dots && width < 520 ? width - 130 : width * 0.4 }) } };
    if (width >= 520) return titled;
    return { ...titled, axis: { ...config.axis, labelLimit: Math.max(90, width * 0.34) }, axisYBand: dots ? { labelAlign: "left", labelPadding: -4, labelOffset: -9, labelFontSize: 11, labelLimit: width - 20, ticks: false } : {} };
  };
  const options = (scheme, renderer, width = 1000, dots = false) => ({
    ast: true, actions: false, defaultStyle: false, renderer,
    config: fitted(configs[scheme], width, dots), tooltip: showTip, loader: { load: refuse, sanitize: refuse, http: refuse, file: refuse },
  });

  const spec = (figure) => {
    const found = structuredClone(figure.chart) ?? JSON.parse(figure.querySelector('script[type="application/json"]').textContent);
    for (const { title } of [found, ...(found.layer ?? [])]) { // a long line would be cut
      if (typeof title?.text === "string") title.text = title.text.match(new RegExp(`.{1,${Math.max(24, Math.floor((figure.clientWidth - 70) / 8.5))}}(?:\\s|$)|\\S+`, "g")) ?? title.text;
      if (figure.clientWidth < 520 && typeof title?.subtitle === "string") title.subtitle = title.subtitle.split(/; | · /);
    }
    return found;
  };

  function place(figure) {
    let canvas = figure.querySelector(".chart-canvas");
    if (!canvas) {
      canvas = document.createElement("div");
      canvas.className = "chart-canvas";
      const caption = figure.querySelector("figcaption");
      if (caption) caption.before(canvas); else figure.append(canvas);
    }
    return canvas;
  }

  const closed = (figure) => figure.closest("details:not([open])");

  async function draw(figure) {
    const canvas = place(figure);
    canvas.dataset.scheme = dark.matches ? "dark" : "light";
    drawn.get(figure)?.finalize();
    const chart = spec(figure), dots = !/"(?:rect|bar)"|yOffset/.test(JSON.stringify(chart)); // whose rows have room for a name above them
    for (const axis of (chart.layer ?? []).map(({ encoding }) => encoding?.y?.axis ?? {})) {
      if (!dots || canvas.clientWidth >= 520) axis.labelLimit &&= Math.min(axis.labelLimit, canvas.clientWidth * 0.48); // leaves room for the dots
      else if (axis.labelOffset) { axis.labelOffset = -24; chart.height.step = 46; } // a name of two lines
    }
    const result = await vivaEmbed(canvas, chart, options(canvas.dataset.scheme, "svg", canvas.clientWidth, dots));
    drawn.set(figure, result);
    figure.dataset.chart = "drawn";
    if (!figure.querySelector(".chart-tools")) figure.append(tools(figure));
  }

  function tools(figure) {
    const bar = document.createElement("p");
    bar.className = "chart-tools";
    for (const kind of ["PNG", "SVG"]) {
      const button = text("button", `Save as ${kind}`);
      button.type = "button";
      button.dataset.export = kind.toLowerCase();
      button.addEventListener("click", () => exported(figure, kind.toLowerCase()));
      bar.append(button);
    }
    return bar;
  }

  async function exported(figure, kind) {
    // Beside the page, not in it: as wide as the figure, on white.
    const aside = document.createElement("div");
    aside.className = "chart-aside";
    aside.style.width = `${Math.max(640, place(figure).clientWidth)}px`;
    document.body.append(aside);
    const light = { ...options("light", "svg"), config: { ...fitted(configs.light, place(figure).clientWidth), background: "#ffffff" } };
    const { view, finalize } = await vivaEmbed(aside, spec(figure), light);
    const name = (figure.dataset.name || figure.id || "chart").replace(/[^\w.-]+/g, "-");
    try {
      if (kind === "svg") return download(new Blob([await view.toSVG()], { type: "image/svg+xml" }), `${name}.svg`);
      const picture = await view.toCanvas(2);
      const blob = await new Promise((done) => picture.toBlob(done, "image/png"));
      return download(blob, `${name}.png`);
    } finally {
      finalize();
      aside.remove();
    }
  }

  function download(blob, name) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  async function drawAll() {
    for (const figure of document.querySelectorAll("figure[data-chart]")) {
      const around = closed(figure); // nothing has a width in there
      if (around) {
        around.addEventListener("toggle", () => { if (around.open && figure.dataset.chart !== "drawn") draw(figure); }, { once: true });
        continue;
      }
      try {
        await draw(figure);
      } catch (problem) {
        place(figure).textContent = `This chart cannot be drawn here (${problem.message}); its figures are in the tables.`;
        figure.dataset.chart = "failed";
      }
      await new Promise((next) => setTimeout(next, 10)); // the page stays quick between two charts
    }
    document.documentElement.dataset.charts = "drawn";
  }

  for (const one of [dark, matchMedia("(width < 600px)")]) one.addEventListener("change", drawAll);
  addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });
  addEventListener("keydown", (event) => { if (event.key === "Escape") tip.hidden = true; });
  window.vivaCharts = { draw, drawAll, download };
  // What readers want first, text and tables, is drawn first; all figures stand before this script, or it is deferred.
  if (window.requestIdleCallback) requestIdleCallback(drawAll, { timeout: 1500 });
  else setTimeout(drawAll, 200);
})();
