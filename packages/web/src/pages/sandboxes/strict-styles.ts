/**
 * The policy of the page takes no style that is written into it, neither as an element nor as an attribute, and xterm writes
 * both. What it would write becomes a sheet that is adopted, and properties that are set: the same look, through doors that the
 * policy leaves open because text of others cannot come through them.
 */

/** xterm colours its spans by attribute. Everything else on the page sets properties anyway. */
HTMLSpanElement.prototype.setAttribute = function setAttribute(name: string, value: string): void {
  if (name === 'style') this.style.cssText = value;
  else Element.prototype.setAttribute.call(this, name, value);
};

/** While `open` runs, what asks for a style element gets one that needs no exception. xterm makes all of its own then. */
export function withStrictStyles<T>(open: () => T): T {
  const create = document.createElement.bind(document);
  const strictly = (name: string, options?: ElementCreationOptions): HTMLElement =>
    name.toLowerCase() === 'style' ? adopted(create('span')) : create(name, options);
  document.createElement = strictly as Document['createElement'];
  try {
    return open();
  } finally {
    // That of the prototype again.
    Reflect.deleteProperty(document, 'createElement');
  }
}

/** Stands where a style element would; what it is given becomes a sheet. */
function adopted(place: HTMLElement): HTMLElement {
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  place.hidden = true;
  let text = '';
  Object.defineProperty(place, 'textContent', {
    get: () => text,
    set(next: string) {
      text = next;
      sheet.replaceSync(next);
    },
  });
  place.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((each) => each !== sheet);
    HTMLElement.prototype.remove.call(place);
  };
  return place;
}
