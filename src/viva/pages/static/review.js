// The keyboard of the item page. Everything here has a button or a link of its own: without this file, nothing is lost.
"use strict";

(() => {
  const said = document.getElementById("said");
  const say = (sentence) => { said.textContent = ""; requestAnimationFrame(() => { said.textContent = sentence; }); };
  // A live region speaks only of what changes; and a reload should not say it again.
  if (said && said.textContent) {
    say(said.textContent);
    const address = new URL(location.href);
    address.searchParams.delete("said");
    history.replaceState(null, "", address);
  }

  const form = document.getElementById("marks");
  if (!form) return;
  const button = (id) => document.getElementById(id);
  const sections = [...form.querySelectorAll("section.aspect")];
  const marks = (section) => [...section.querySelectorAll("input[type=radio]")];
  const marked = (section) => marks(section).some((mark) => mark.checked);
  let current = sections.find((section) => !marked(section)) || sections[0];

  const turnTo = (section, scroll) => {
    current = section;
    for (const one of sections) one.toggleAttribute("data-current", one === section);
    if (scroll) section.querySelector("fieldset").scrollIntoView({ block: "nearest" });
  };
  form.addEventListener("focusin", (event) => {
    const section = event.target.closest("section.aspect");
    if (section) turnTo(section, false);
  });
  turnTo(current, false);

  // A key twice, or a click on top of it, is one form. Leaving with something unsaved is asked about.
  let sent = false;
  let changed = false;
  form.addEventListener("submit", (event) => {
    if (sent) event.preventDefault();
    sent = true;
    setTimeout(() => { sent = false; }, 3000);
  });
  form.addEventListener("input", () => { changed = true; });
  window.addEventListener("beforeunload", (event) => { if (changed && !sent) event.preventDefault(); });
  window.addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });

  const give = (key) => {
    const mark = marks(current).find((one) => one.dataset.key === key);
    if (!mark) return false;
    changed = changed || !mark.checked;
    mark.checked = true;
    mark.focus({ preventScroll: true });
    const next = sections.slice(sections.indexOf(current) + 1).find((section) => !marked(section));
    if (next) turnTo(next, true);
    else say("Enter saves and goes on.");
    return true;
  };

  const save = () => {
    const open = sections.filter((section) => !marked(section));
    const confirmed = open.filter((section) => section.querySelector("[data-draft]"));
    if (open.length && button("confirm") && confirmed.length === open.length) return button("confirm").click();
    if (open.length === 0) return button("save").click();
    turnTo(open.find((section) => !confirmed.includes(section)), true);
    say(`Choose a mark for the ${current.querySelector("h2").textContent.toLowerCase()} first.`);
  };

  const go = (id) => { const link = button(id); if (link) link.click(); else say("There is no further item on this side."); };
  const steps = { j: "next", ArrowRight: "next", k: "previous", ArrowLeft: "previous", u: "undo", b: "blind" };

  document.addEventListener("keydown", (event) => {
    const typing = event.target.matches("textarea, select, input:not([type=radio])");
    if (typing && event.key === "Escape") return event.target.blur();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); return button("save").click(); }
    if (typing || event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (key === "Enter") {
      if (event.target.closest("a, button, summary")) return;
      save();
    } else if (key === "?") {
      button("keys").open = !button("keys").open;
      button("keys").querySelector("summary").focus();
    } else if (key === "c") {
      current.querySelector(".comment textarea").focus();
    } else if (key.startsWith("Arrow") && event.target.matches("input[type=radio]")) {
      return;
    } else if (steps[key]) {
      go(steps[key]);
    } else if (!give(key)) {
      return;
    }
    event.preventDefault();
  });
})();
