() => {
  const channel = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const parse = (text) => { const found = text.match(/[\d.]+/g).map(Number); return found.length > 3 ? found : [...found, 1]; };
  const over = (top, under) => [0, 1, 2].map((i) => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
  const light = (c) => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
  const ground = (element) => {
    const layers = [];
    for (let one = element; one; one = one.parentElement) layers.push(parse(getComputedStyle(one).backgroundColor));
    return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255, 1]);
  };
  const poor = [];
  let seen = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const check = (element, text, pseudo) => {
    const under = ground(element), style = getComputedStyle(element, pseudo), top = over(parse(style.color), under);
    const [a, b] = [light(top), light(under)].sort((x, y) => y - x);
    seen += 1;
    if ((a + 0.05) / (b + 0.05) < 4.5) poor.push([text.trim().slice(0, 40), style.color, String(under), (a + 0.05) / (b + 0.05)]);
  };
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || element.closest("script, style") || !element.checkVisibility()) continue;
    check(element, walker.currentNode.data);
  }
  for (const field of document.querySelectorAll("input, textarea, select")) {
    if (field.type !== "hidden" && field.type !== "radio" && field.checkVisibility()) check(field, field.name);
    if (field.placeholder) check(field, field.placeholder, "::placeholder");
  }
  return { seen, poor };
}
