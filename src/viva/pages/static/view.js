/* Keeps the counts of a running run up to date, and steps through answers by keyboard. Nothing here makes markup of text. */
(() => {
  "use strict";
  const EVERY = 2000;
  const PATIENCE = 5;

  const follow = (live) => {
    const fields = new Map([...live.querySelectorAll("[data-field]")].map((one) => [one.dataset.field, one]));
    const lost = live.querySelector("#lost");
    let missed = 0;

    const say = (element, text) => {
      if (element && element.textContent !== text) element.textContent = text;
    };
    const show = (news) => {
      for (const name of ["sentence", "answered", "total", "failed", "left", "rate", "input", "output"]) say(fields.get(name), news[name]);
      say(fields.get("remaining"), news.remaining || "–");
      const meter = live.querySelector("#meter");
      meter.max = news.of || 1;
      meter.value = news.done;
      meter.parentElement.setAttribute("aria-label", `${news.answered} of ${news.total} answered, ${news.failed} failed`);
      for (const [name, count] of Object.entries(news.stages)) {
        const cell = live.querySelector(`[data-stage="${name}"]`);
        if (cell) {
          say(cell, count);
          cell.parentElement.hidden = false;
        }
      }
      const rows = live.querySelector("#parts tbody").rows;
      if (rows.length === news.parts.length) {
        news.parts.forEach((part, index) => [...rows[index].cells].forEach((cell, column) => say(cell.firstElementChild ?? cell, part[column])));
      }
    };
    const stop = (sentence) => {
      lost.textContent = sentence;
      lost.hidden = !sentence;
    };
    const ask = async () => {
      if (document.hidden) {
        setTimeout(ask, EVERY);
        return;
      }
      let answer = null;
      try {
        const reply = await fetch(live.dataset.live, { headers: { Accept: "application/json" } });
        answer = await reply.json();
        if (!reply.ok) {
          stop(`${answer.problem ?? "This run cannot be read any more."} These are the last counts.`);
          return;
        }
      } catch {
        missed += 1;
        if (missed >= PATIENCE) {
          stop("Viva does not answer any more: these are the last counts. Start `viva view` again, then reload.");
          return;
        }
        setTimeout(ask, EVERY * missed);
        return;
      }
      missed = 0;
      show(answer);
      if (answer.state === "running") setTimeout(ask, EVERY);
      else location.reload(); // once: the page of a run that has ended does not ask
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
