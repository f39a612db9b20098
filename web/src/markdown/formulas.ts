import temml from 'temml';

/** A formula as MathML. What cannot be read is shown as it was written. */
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
