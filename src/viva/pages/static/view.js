/* Keeps the counts of a running run up to date, and steps through answers by keyboard. Nothing here makes markup of text. */
(() => {
  "use strict";
  const EVERY = 2000;
  const PATIENCE = 5;

  const follow = (live) => {
    const focusable = () => [...live.querySelectorAll("a, summary, [tabindex]")];
    let missed = 0;
    const stop = (sentence) => {
      const lost = live.querySelector("#lost");
      lost.textContent = `${sentence} These are the last counts.`;
      lost.hidden = false;
    };
    const show = (news) => {
      const at = focusable().indexOf(document.activeElement);
      news.querySelector("details")?.toggleAttribute("open", live.querySelector("details")?.open ?? true);
      live.replaceWith(news);
      live = news;
      focusable()[at]?.focus();
    };
    const ask = () => {
      if (document.hidden) return setTimeout(ask, EVERY);
      const request = new XMLHttpRequest(); // it gives a document: no text becomes markup here
      request.open("GET", live.dataset.live);
      request.responseType = "document";
      request.onerror = () => {
        missed += 1;
        if (missed < PATIENCE) setTimeout(ask, EVERY * missed);
        else stop("Viva does not answer any more: start `viva view` again, then reload.");
      };
      request.onload = () => {
        const news = request.response?.getElementById("live");
        missed = 0;
        if (!news) stop(request.response?.querySelector("main p")?.textContent ?? "This run cannot be read any more.");
        else if (!news.dataset.live) location.reload(); // once: the page of a run that has ended does not ask
        else {
          show(document.adoptNode(news));
          setTimeout(ask, EVERY);
        }
      };
      return request.send();
    };
    setTimeout(ask, EVERY);
  };

  const live = document.querySelector("[data-live]");
  if (live) follow(live);

  // The matrix: arrows walk from cell to cell, Enter opens it.
  const matrix = document.querySelector("#matrix tbody");
  const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [0, -1e6], End: [0, 1e6], PageUp: [-12, 0], PageDown: [12, 0] };
  matrix?.closest(".wide").addEventListener("keydown", (event) => {
    const step = STEPS[event.key];
    if (!step || event.ctrlKey || event.altKey || event.metaKey) return;
    const cell = event.target.closest("td, th");
    const within = (value, last) => Math.max(0, Math.min(last, value));
    const row = matrix.rows[cell && matrix.contains(cell) ? within(cell.parentElement.sectionRowIndex + step[0], matrix.rows.length - 1) : 0];
    const links = [...row.querySelectorAll("a")];
    const at = cell ? [...cell.parentElement.querySelectorAll("a")].indexOf(event.target.closest("a")) : 0;
    const link = links[within(at + step[1], links.length - 1)];
    event.preventDefault();
    link.focus();
    link.scrollIntoView({ block: "nearest", inline: "nearest" });
  });

  const keys = { ArrowLeft: "previous", k: "previous", ArrowRight: "next", j: "next", l: "up", s: "go-run", a: "go-answers", m: "go-matrix", b: "beside", r: "raw", "/": "q", "?": "keys" };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest("input, select, textarea, .wide")) return;
    const found = document.getElementById(keys[event.key] ?? "");
    if (!found) return;
    if (found.matches("input")) found.focus();
    else if (found.matches("details")) found.open = !found.open;
    else found.click();
    if (found.matches("details")) found.firstElementChild.focus();
    event.preventDefault();
  });

  for (const select of document.querySelectorAll("#filters select")) select.addEventListener("change", () => select.form.requestSubmit());
})();
