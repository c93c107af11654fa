// Copying and saving what the report says: methods, references, signatures, and every table as CSV or LaTeX.
(() => {
  "use strict";
  let known;
  const told = document.getElementById("told");
  const tell = (text) => { told.textContent = text; setTimeout(() => { if (told.textContent === text) told.textContent = ""; }, 4000); };

  function save(text, name, type) {
    vivaCharts.download(new Blob([text], { type }), name);
    tell(`Saved ${name}`);
  }
  async function copy(text, what) {
    try {
      await navigator.clipboard.writeText(text);
    } catch { // a file that is opened from a disk may not be allowed to
      const area = document.createElement("textarea");
      area.value = text;
      area.className = "hidden";
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    tell(`Copied ${what}`);
  }
  addEventListener("click", async (event) => {
    const button = event.target.closest?.("button[data-save], button[data-copy]");
    if (!button) return;
    if (button.dataset.copy) {
      copy(document.getElementById(button.dataset.copy).textContent, button.dataset.what);
      return;
    }
    known ??= viva.unpack("downloads");
    const [table, kind] = [button.dataset.save, button.dataset.kind];
    const { name, csv, latex } = (await known)[table];
    if (kind === "csv") save(csv, `${name}.csv`, "text/csv");
    else save(latex, `${name}.tex`, "application/x-tex");
  });
})();
