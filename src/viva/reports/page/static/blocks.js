// The page's packed blocks: script#block-NAME with base64 of gzip of JSON, unpacked when asked for.
(() => {
  "use strict";
  const there = (name) => new Promise((done, fail) => {
    const look = () => {
      // The parser may not have come to it yet; it is whole once something follows it.
      const found = document.getElementById(`block-${name}`);
      const parsed = document.readyState !== "loading";
      if (found && (found.nextSibling || parsed)) done(found);
      else if (parsed) fail(new Error(`this file is damaged: it has no block ${name}`));
      else setTimeout(look, 15);
    };
    look();
  });
  async function unpack(name) {
    const text = (await there(name)).textContent;
    const bytes = Uint8Array.fromBase64 ? Uint8Array.fromBase64(text) : Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
  }
  globalThis.viva = Object.assign(globalThis.viva ?? {}, { unpack });
})();
