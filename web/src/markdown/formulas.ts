import temml from 'temml';

/** Renders a formula as MathML. Invalid formulas are shown as source. */
export function renderFormula(placeholder: HTMLElement, tex: string, display: boolean): void {
  try {
    const filled = document.createElement('span');
    temml.render(tex, filled, { displayMode: display, throwOnError: true, trust: false, maxExpand: 200 });
    placeholder.replaceChildren(...filled.childNodes);
    placeholder.classList.add('filled');
  } catch {
    placeholder.textContent = display ? `$$${tex}$$` : `$${tex}$`;
  }
}
