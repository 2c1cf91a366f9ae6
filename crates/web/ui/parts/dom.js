// Elements. Texts become text nodes, never HTML, so that a name from a profile can't be markup.

const SVG = "http://www.w3.org/2000/svg";

/**
 * An HTML element. Properties: `on` has listeners, `style` and `data` are maps, `class` and `aria-…` are
 * attributes; `true` is an empty attribute, `false`, `null` and `undefined` none.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Properties | null} [properties]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, properties, ...children) {
  const element = document.createElement(tag);
  set(element, properties);
  add(element, children);
  return element;
}

/**
 * An element of a drawing.
 * @template {keyof SVGElementTagNameMap} K
 * @param {K} tag
 * @param {Properties | null} [properties]
 * @param {...Child} children
 * @returns {SVGElementTagNameMap[K]}
 */
export function svg(tag, properties, ...children) {
  const element = document.createElementNS(SVG, tag);
  set(element, properties);
  add(element, children);
  return element;
}

/**
 * Puts other children in the place of an element's own.
 * @param {Element} element
 * @param {...Child} children
 */
export function fill(element, ...children) {
  element.replaceChildren();
  add(element, children);
}

/** @param {Element} element @param {Properties | null | undefined} properties */
function set(element, properties) {
  if (!properties) return;
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(/** @type {Record<string, EventListener>} */ (value))) {
        element.addEventListener(event, listener);
      }
    } else if (name === "style") {
      const style = /** @type {HTMLElement} */ (element).style;
      for (const [key, text] of Object.entries(/** @type {Record<string, string>} */ (value))) style.setProperty(key, text);
    } else if (name === "data") {
      const data = /** @type {HTMLElement} */ (element).dataset;
      for (const [key, text] of Object.entries(/** @type {Record<string, string>} */ (value))) data[key] = text;
    } else if (/^on/i.test(name)) {
      throw new Error("listeners belong into `on`");
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
}

/** @param {Element} element @param {Child[]} children */
function add(element, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) add(element, child);
    else element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}
