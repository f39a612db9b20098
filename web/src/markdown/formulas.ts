import temml from 'temml';

/** Renders a formula as MathML. Invalid formulas are shown as source. */
export function renderFormula(place: HTMLElement, tex: string, display: boolean): void {
  try {
    const filled = document.createElement('span');
    temml.render(tex, filled, { displayMode: display, throwOnError: true, trust: false, maxExpand: 200 });
    place.replaceChildren(...filled.childNodes);
    place.classList.add('filled');
  } catch {
    place.textContent = display ? `$$${tex}$$` : `$${tex}$`;
  }
}
