/* Texts as people read them: Markdown (the parser of markdown-it) and formulas (KaTeX, as MathML) become elements that are
   made one by one; everything else is text: no HTML of a text's, no link, no image, no style.
   <div data-prose>: rendered where that shows more, with its mark.read; data-prose="both": as it came, too, folded below.
   <bdi data-tex>: a line of a list, its formulas alone. What cannot be rendered in bounds stays as it came. */
(() => {
  "use strict";
  const LONGEST = 20000, DEEP = 20, MOST = 300, SECONDS = 1.5;
  // Characters that no text has once what cannot be seen is spelled out.
  const START = "\ufdd0", END = "\ufdd1", SIGN = /[\ufdd0-\ufdd3]/;
  const PIECE = /\ufdd2\d+\ufdd3|[\ufdd0\ufdd1]|[^\ufdd0-\ufdd2]+/g;
  const FORMULA_OR_CODE = new RegExp([
    /(?<code>^ {0,3}(?:```|~~~)[^]*?(?:^ {0,3}(?:```|~~~)|$(?![^]))|`[^`\n]+`)/,
    /(?<two>\$\$(?!\s*\$)[^]{1,1000}?\$\$|\\\[[^]{1,1000}?\\\])/,
    /(?<begin>\\begin\{(?:equation|align|gather|cases|[pbvBV]?matrix|array)\*?\}[^]{1,1000}?\\end\{[a-zA-Z]{1,10}\*?\})/,
    /(?<inner>\\\([^]{1,500}?\\\))/,
    /(?<one>\$(?=[^\s$])[^$\n]{0,300}?[^\s$\\]\$(?![\d$]))/,
  ].map((one) => one.source).join("|"), "gm");
  const DELIMITER = { two: 2, begin: 0, inner: 2, one: 1 };
  // As viva/visible.py: controls, directions, and what is a letter to Unicode and nothing to the eye.
  const INVISIBLE = /(?![\n\t])[\p{C}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2028\u2029\u2800\u3164\ufe00-\ufe0d\uffa0\u{e0100}-\u{e01ef}]/gu;
  const visible = (text) => text.replaceAll("\r\n", "\n").replace(INVISIBLE, (one) => `<U+${one.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}>`);

  let known;
  function parser() {
    if (known) return known;
    known = globalThis.markdownit("commonmark", { html: false, breaks: true, maxNesting: DEEP });
    // Entities would bring invisible characters back; a reference's definition would vanish.
    known.enable("table").disable(["entity", "reference", "html_block", "html_inline"]);
    const newline = known.inline.ruler.__rules__.find((rule) => rule.name === "newline").fn;
    // Markdown drops the blanks that a line begins with, which a program needs.
    known.inline.ruler.at("newline", (state, silent) => {
      const start = state.pos;
      if (!newline(state, silent)) return false;
      if (!silent && state.pos > start + 1) state.push("indent", "", 0).content = state.src.slice(start + 1, state.pos);
      return true;
    });
    return known;
  }
  // Formulas are taken out before Markdown reads their underscores.
  function withoutFormulas(text) {
    const formulas = [];
    const source = text.replace(FORMULA_OR_CODE, (said, ...more) => {
      const groups = more.at(-1), name = Object.keys(DELIMITER).find((one) => groups[one] !== undefined);
      return name ? `\ufdd2${formulas.push({ said, display: name === "two" || name === "begin", cut: DELIMITER[name] }) - 1}\ufdd3` : said;
    });
    return { source, formulas };
  }
  // Paragraphs and code of the outermost level begin as their lines do: a program without a fence keeps its shape.
  function indented(tokens, lines) {
    tokens.forEach((token, place) => {
      const before = tokens[place - 1];
      if (!token.map || before?.level || token.level > 1) return;
      if (token.type === "code_block") token.content = `${lines.slice(...token.map).join("\n").trimEnd()}\n`;
      else if (before?.type === "paragraph_open" && token.children?.length) {
        const blank = lines[token.map[0]].match(/^[ \t]*/)[0];
        if (blank) token.children.unshift({ type: "indent", nesting: 0, content: blank });
      }
    });
    return tokens;
  }

  class Builder {
    constructor(root, formulas) { Object.assign(this, { at: root, formulas, reading: false, until: performance.now() + 1000 * SECONDS }); }
    put(name, content = "", kind = "") {
      const element = document.createElement(name);
      if (kind) element.className = kind;
      element.append(content);
      this.at.append(element);
      return element;
    }
    text(content, code = false) {
      for (const piece of content.match(PIECE) ?? []) {
        if (piece === START || piece === END) this.reading = piece === START;
        else if (piece[0] === "\ufdd2") this.formula(this.formulas[Number(piece.slice(1, -1))], code);
        else if (this.reading && piece.trim()) this.put("mark", piece, "read");
        else this.at.append(piece);
      }
    }
    formula({ said, display, cut }, code) {
      const source = said.replaceAll(START, "").replaceAll(END, "");
      if (code) { this.at.append(source); return; }
      const span = this.put("span", source, `tex${display ? " display" : ""}${this.reading || said.includes(START) ? " read" : ""}`);
      if (!globalThis.katex || performance.now() > this.until) return;
      try { // no style and no font is asked for, nothing is trusted (no links, no images)
        const made = document.createElement("span");
        katex.render(source.slice(cut, source.length - cut), made, { output: "mathml", throwOnError: true, trust: false, strict: "ignore", errorColor: "currentcolor", maxExpand: 200, maxSize: 10, displayMode: display });
        span.replaceChildren(made);
        for (const one of made.querySelectorAll("mo")) if (one.textContent === "\u2061" && one.nextSibling?.localName !== "mo") one.setAttribute("rspace", "0.17em");
      } catch { /* what is no formula stays the text that it is */ }
    }
    code(element, content) {
      const here = this.at;
      this.at = element;
      this.text(content, true);
      this.at = here;
    }
    walk(tokens) {
      const addresses = [], of = (token, name) => visible([name, "title"].map((one) => token.attrGet(one)).filter(Boolean).join(" "));
      for (const token of tokens) {
        if (token.children && token.type === "inline") this.walk(token.children);
        else if (token.type === "link_open") addresses.push(of(token, "href"));
        else if (token.type === "link_close") {
          const address = addresses.pop();
          if (this.at.lastChild?.data !== address) this.text(` (${address})`);
        } else if (token.hidden) continue;
        else if (token.nesting < 0) this.at = this.at.parentElement;
        else if (token.nesting > 0) {
          this.at = token.type === "heading_open" ? this.put("p", "", "heading") : this.put(token.tag);
          if (token.tag === "ol" && token.attrGet("start")) this.at.setAttribute("start", Number(token.attrGet("start")));
        } else if (token.type === "softbreak" || token.type === "hardbreak") this.put("br");
        else if (token.type === "hr") this.put("hr");
        else if (token.type === "indent") this.put("span", token.content, "indent");
        else if (token.type === "code_inline") this.code(this.put("code"), token.content);
        else if (token.type === "fence" || token.type === "code_block") {
          if (token.info?.trim()) { this.at = this.put("p", "", "quiet"); this.text(token.info.trim()); this.at = this.at.parentElement; }
          const pre = this.put("pre"), code = document.createElement("code");
          pre.append(code);
          this.code(code, token.content);
        } else this.text(token.type === "image" ? `[image: ${token.content} (${of(token, "src")})]` : token.content);
      }
    }
  }

  /* An element's text rendered as another one; null where that shows nothing that the text itself does not, and where it is too long or too deep. */
  function prose(element) {
    const text = element.textContent, marks = element.querySelectorAll("mark.read");
    if (text.length > LONGEST || SIGN.test(text) || !globalThis.markdownit) return null;
    let marked = text;
    if (marks.length) {
      const range = document.createRange();
      range.selectNodeContents(element);
      range.setEndBefore(marks[0]);
      let start = range.toString().length;
      range.setEndAfter(marks[marks.length - 1]);
      let end = range.toString().length;
      // Before or after these, Markdown would not see its own signs any more.
      while (start < end && " \t\n*_`#>-".includes(text[start])) start += 1;
      while (end > start && " \t\n*_`#>-".includes(text[end - 1])) end -= 1;
      if (start < end) marked = `${text.slice(0, start)}${START}${text.slice(start, end)}${END}${text.slice(end)}`;
    }
    const { source, formulas } = withoutFormulas(marked), tokens = indented(parser().parse(source, {}), source.split("\n"));
    if (formulas.length > MOST || tokens.some((token) => token.level >= DEEP - 1)) return null;
    const root = document.createElement("div");
    new Builder(root, formulas).walk(tokens);
    if (!root.querySelector("*:not(p:not([class]), br, mark, .indent)")) return null;
    Object.assign(root, { className: "prose", dir: "auto" }, element.id && { id: element.id });
    return root;
  }
  function line(element) {
    const { source, formulas } = withoutFormulas(element.textContent);
    const whole = source.replace(/(?:(?:\$\$(?=[^\s\d$])|\\\[)[^$]*|(?:\$(?=[^\s\d$])|\\\()[^$\ufdd2]*)…$/, "…"); // a formula that the end of the line cuts in two
    if (SIGN.test(element.textContent) || source === whole && !formulas.length) return;
    element.replaceChildren();
    new Builder(element, formulas).text(whole);
  }
  for (const one of document.querySelectorAll("[data-tex]")) line(one);
  for (const one of document.querySelectorAll("[data-prose]")) {
    const made = prose(one);
    if (!made) continue;
    one.replaceWith(made);
    if (one.dataset.prose !== "both") continue;
    const came = document.createElement("details"), title = document.createElement("summary");
    title.textContent = "As it came";
    came.className = "came";
    came.append(title, one);
    made.after(came);
  }
  globalThis.viva = Object.assign(globalThis.viva ?? {}, { prose, visible });
  dispatchEvent(new Event("viva:prose")); // for what was shown before this file was read
})();
