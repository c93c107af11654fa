() => {
  const problems = [];
  const named = (field) => field.labels?.length || field.getAttribute("aria-label") || field.getAttribute("aria-labelledby");
  for (const field of document.querySelectorAll("input:not([type=hidden]), select, textarea, progress"))
    if (!named(field)) problems.push("no label: " + field.outerHTML.slice(0, 80));
  for (const one of document.querySelectorAll("a, button, summary"))
    if (!one.textContent.trim()) problems.push("no text: " + one.outerHTML.slice(0, 80));
  for (const one of document.querySelectorAll("a, button, summary, select, input:not([type=hidden]), textarea")) {
    if (!one.checkVisibility() || one.closest(".skip")) continue;
    const target = one.type === "radio" ? one.closest("label") : one;
    const box = target.getBoundingClientRect();
    if (box.width < 24 || box.height < 24) problems.push(`small ${box.width}x${box.height}: ` + one.outerHTML.slice(0, 80));
  }
  const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
  if (new Set(ids).size !== ids.length) problems.push("an id twice");
  for (const one of document.querySelectorAll("[aria-labelledby], [aria-describedby], label[for]"))
    for (const id of ["aria-labelledby", "aria-describedby", "for"].map((name) => one.getAttribute(name)).filter(Boolean))
      if (!document.getElementById(id)) problems.push("no element " + id);
  const levels = [...document.querySelectorAll("h1, h2, h3, h4")].map((one) => Number(one.tagName[1]));
  if (levels.filter((level) => level === 1).length !== 1 || levels[0] !== 1) problems.push("headings " + levels);
  levels.forEach((level, i) => { if (i && level > levels[i - 1] + 1) problems.push("a level is skipped: " + levels); });
  for (const name of ["main", "header", "nav"]) if (!document.querySelector(name)) problems.push("no " + name);
  if (!document.documentElement.lang || !document.title) problems.push("no language or title");
  if (document.querySelector("[tabindex]:not([tabindex='-1']):not([tabindex='0'])")) problems.push("a tabindex of its own");
  const groups = document.querySelectorAll("fieldset");
  for (const one of groups) if (!one.querySelector("legend")) problems.push("a fieldset without a legend");
  if (!document.querySelector("[aria-live=polite]")) problems.push("no live region");
  return problems;
}
