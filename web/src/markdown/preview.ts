import type { PreviewKind } from './preview-kind.ts';
import { sandboxed } from './sandbox.ts';
import { texts } from './texts.ts';

/** Adds a preview to a code block. Diagrams and images are shown at once, pages after a click. */
export function addPreview(frame: HTMLElement, source: string, kind: PreviewKind): void {
  const pre = frame.querySelector('pre');
  const head = frame.querySelector('.code-head');
  if (!pre || !head) return;
  const view = document.createElement('div');
  view.className = `preview ${kind}`;
  view.hidden = true;
  const toggle = document.createElement('button');
  toggle.type = 'button';
  toggle.className = 'show-preview';
  const show = (preview: boolean): void => {
    view.hidden = !preview;
    pre.hidden = preview;
    toggle.textContent = preview ? texts.source : texts.preview;
    if (kind === 'page') view.replaceChildren(...(preview ? [sandboxed(source)] : []));
  };
  toggle.onclick = () => show(view.hidden !== false);
  show(false);
  head.querySelector('.copy-code')?.before(toggle);
  frame.append(view);
  const failed = (reason: string): void => {
    const note = document.createElement('p');
    note.className = 'preview-error';
    note.setAttribute('role', 'status');
    note.textContent = reason;
    toggle.remove();
    view.replaceWith(note);
    pre.hidden = false;
  };
  if (kind === 'picture') showPicture(view, source, texts.picture, { shown: () => show(true), failed });
  if (kind === 'diagram') showDiagram(view, source, { shown: () => show(true), failed });
}

interface Outcome {
  readonly shown: () => void;
  readonly failed: (reason: string) => void;
}

/** As an image nothing in the SVG can run, load or be clicked. */
function showPicture(view: HTMLElement, svg: string, alt: string, { shown, failed }: Outcome): void {
  const image = document.createElement('img');
  const url = URL.createObjectURL(new Blob([withNamespace(svg)], { type: 'image/svg+xml' }));
  image.alt = alt;
  image.onload = () => {
    URL.revokeObjectURL(url);
    shown();
  };
  image.onerror = () => {
    URL.revokeObjectURL(url);
    failed(texts.pictureFailed);
  };
  view.replaceChildren(image);
  image.src = url;
}

function withNamespace(svg: string): string {
  return /<svg[^>]*\sxmlns=/i.test(svg) ? svg : svg.replace(/<svg/i, '<svg xmlns="http://www.w3.org/2000/svg"');
}

function showDiagram(view: HTMLElement, source: string, outcome: Outcome): void {
  const draw = async (first: boolean): Promise<void> => {
    const { drawDiagram } = await import('./diagrams.ts');
    try {
      const svg = await drawDiagram(source, isDark());
      showPicture(view, svg, diagramTitle(source), first ? outcome : { ...outcome, shown: () => {} });
    } catch (thrown) {
      outcome.failed(texts.diagramFailed(thrown instanceof Error ? thrown.message : String(thrown)));
    }
  };
  void draw(true);
  onTheme(() => {
    if (view.isConnected) void draw(false);
    return view.isConnected;
  });
}

/** The title that a diagram has for screen readers, or its kind. */
function diagramTitle(source: string): string {
  const title = /^\s*accTitle:\s*(.+)$/m.exec(source)?.[1] ?? /^\s*(?:title:?)\s+(.+)$/m.exec(source)?.[1];
  return title === undefined ? texts.diagram : `${texts.diagram}: ${title.trim()}`;
}

const isDark = (): boolean => getComputedStyle(document.documentElement).colorScheme === 'dark' || systemDark();
function systemDark(): boolean {
  const { theme } = document.documentElement.dataset;
  return theme === undefined && matchMedia('(prefers-color-scheme: dark)').matches;
}

const listeners = new Set<() => boolean>();
let watching = false;

/** Calls the listener after a change of the theme, until it returns false. */
function onTheme(listener: () => boolean): void {
  listeners.add(listener);
  if (watching) return;
  watching = true;
  const changed = (): void => {
    for (const one of listeners) if (!one()) listeners.delete(one);
  };
  new MutationObserver(changed).observe(document.documentElement, { attributeFilter: ['data-theme'] });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', changed);
}
