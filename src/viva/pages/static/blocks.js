// The page's packed blocks: script#block-NAME with base64 of gzip of JSON, unpacked when asked for; the index is JSON,
// read at once.
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
  function bytesOf(text) {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
    const found = atob(text), bytes = new Uint8Array(found.length);
    for (let at = 0; at < found.length; at += 1) bytes[at] = found.charCodeAt(at);
    return bytes;
  }
  async function unpack(name) {
    const bytes = bytesOf((await there(name)).textContent);
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
  }
  function readIndex() {
    const index = JSON.parse(document.getElementById("block-items-index").textContent);
    for (const column of Object.values(index.columns)) column.keys ??= column.words;
    return index;
  }
  globalThis.viva = Object.assign(globalThis.viva ?? {}, { unpack, readIndex });
})();
