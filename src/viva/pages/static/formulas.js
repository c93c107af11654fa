/* Formulas of a rendered text as MathML, by KaTeX: no style and no font of a page's policy is asked for, nothing is
   trusted (no links, no images), and what is none, or takes too long, stays the text that it is. */
(() => {
  "use strict";
  const SECONDS = 1.5;
  const options = { output: "mathml", throwOnError: true, trust: false, strict: "ignore", errorColor: "currentcolor", maxExpand: 200, maxSize: 10 };
  const draw = (one) => {
    const cut = Number(one.dataset.cut);
    const source = one.textContent;
    try {
      const made = document.createElement("span");
      katex.render(source.slice(cut, source.length - cut), made, { ...options, displayMode: one.classList.contains("display") });
      one.replaceChildren(made);
    } catch {
      one.replaceChildren(source);
    }
  };
  const drawIn = (root) => {
    const until = performance.now() + 1000 * SECONDS;
    for (const one of root.querySelectorAll(".tex:not(:has(math))")) {
      if (performance.now() > until) break;
      draw(one);
    }
  };
  globalThis.viva = Object.assign(globalThis.viva ?? {}, { formulas: drawIn }); // for what comes into the page later
  drawIn(document);
})();
