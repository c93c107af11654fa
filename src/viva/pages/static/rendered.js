// Elements of a reply that was rendered when the report was made (web/markdown.py). Nothing is parsed as HTML: known
// elements with known attributes are made one by one, and everything else is text.
(() => {
  "use strict";
  const ELEMENTS = new Set(["p", "br", "hr", "em", "strong", "code", "pre", "blockquote", "ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td", "mark", "span"]);
  const ATTRIBUTES = new Set(["class", "start", "data-cut"]);
  const PIECE = /<(\/?)([a-z]+)((?: [a-z-]+="[^"<>]*")*)(?: \/)?>|[^<]+|</g;
  const ATTRIBUTE = / ([a-z-]+)="([^"]*)"/g;
  const SIGNS = { lt: "<", gt: ">", quot: '"', "#34": '"', "#39": "'", amp: "&" };
  const textOf = (text) => text.replace(/&(lt|gt|quot|#34|#39|amp);/g, (_, name) => SIGNS[name]);
  function elements(html) {
    const root = document.createElement("div");
    let at = root;
    for (const [piece, end, name, attributes] of html.matchAll(PIECE)) {
      if (!ELEMENTS.has(name)) at.append(textOf(piece));
      else if (end) { if (at !== root) at = at.parentElement; }
      else {
        const element = document.createElement(name);
        for (const [, key, value] of attributes.matchAll(ATTRIBUTE)) if (ATTRIBUTES.has(key)) element.setAttribute(key, value);
        at.append(element);
        if (name !== "br" && name !== "hr") at = element;
      }
    }
    root.className = "prose";
    root.dir = "auto";
    return root;
  }
  globalThis.viva = Object.assign(globalThis.viva ?? {}, { elements });
})();
