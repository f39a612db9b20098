import createPurifier from 'dompurify';
import { validNumbers } from './citations.ts';
import { frameCode, growCode, openCode, startGrowing } from './code-block.ts';
import { directionOf } from './direction.ts';
import { htmlOf } from './syntax.ts';
import { texts } from './texts.ts';

const purifier = createPurifier(window);
purifier.addHook('afterSanitizeAttributes', (node) => {
  if (node.tagName !== 'A') return;
  node.setAttribute('target', '_blank');
  node.setAttribute('rel', 'noopener noreferrer');
});
const allowed = {
  ALLOWED_TAGS:
    'a b blockquote br code del details em h1 h2 h3 h4 h5 h6 hr i img input kbd li mark ol p pre s span strong sub summary sup table tbody td th thead tr u ul'.split(
      ' ',
    ),
  ALLOWED_ATTR:
    'href title align class start alt src type checked disabled data-tex data-display data-note data-cite'.split(' '),
  RETURN_DOM_FRAGMENT: true,
} as const;

let formulas: typeof import('./formulas.ts') | undefined;

interface BlockOptions {
  /** The block is still growing. */
  readonly open: boolean;
  /** Quoted speech has its own element. */
  readonly speech: boolean;
  /** Labels of the footnotes of the whole text. */
  readonly notes: readonly string[];
  /** What each source is, in a few words; marks of other numbers stay text. */
  readonly sources: readonly string[];
}

/** Renders one block of markdown. */
export function renderBlock(
  target: HTMLElement,
  markdown: string,
  { open, speech, notes, sources }: BlockOptions,
): void {
  const code = open ? openCode(markdown) : undefined;
  if (code && growCode(target, code)) return;
  const fragment = purifier.sanitize(htmlOf(markdown, { speech }), {
    ...allowed,
    ALLOWED_TAGS: [...allowed.ALLOWED_TAGS],
    ALLOWED_ATTR: [...allowed.ALLOWED_ATTR],
  });
  setDirections(fragment);
  for (const code of fragment.querySelectorAll<HTMLElement>('pre > code')) frameCode(code, open);
  for (const table of fragment.querySelectorAll('table')) wrapTable(table);
  for (const placeholder of fragment.querySelectorAll<HTMLElement>('.maths')) fillFormula(placeholder);
  for (const placeholder of fragment.querySelectorAll<HTMLElement>('[data-note]')) fillNote(placeholder, notes);
  for (const placeholder of fragment.querySelectorAll<HTMLElement>('[data-cite]')) fillCitation(placeholder, sources);
  for (const box of fragment.querySelectorAll('input')) box.setAttribute('aria-label', texts.done);
  target.replaceChildren(fragment);
  if (code) startGrowing(target, code);
}

/** `auto` ignores children with their own direction, so blocks that contain others get the direction of their text. */
function setDirections(fragment: DocumentFragment): void {
  for (const leaf of fragment.querySelectorAll<HTMLElement>('p, h1, h2, h3, h4, h5, h6, td, th, summary'))
    leaf.dir = 'auto';
  for (const outer of fragment.querySelectorAll<HTMLElement>('ul, ol, li, blockquote, table, details'))
    outer.dir = directionOf(outer.textContent ?? '');
}

function wrapTable(table: HTMLTableElement): void {
  const frame = document.createElement('div');
  frame.className = 'table';
  frame.tabIndex = 0;
  frame.setAttribute('role', 'region');
  frame.setAttribute('aria-label', texts.table);
  table.replaceWith(frame);
  frame.append(table);
}

function fillFormula(placeholder: HTMLElement): void {
  const { tex = '', display } = placeholder.dataset;
  if (formulas) formulas.renderFormula(placeholder, tex, display !== undefined);
  else
    void import('./formulas.ts').then((loaded) => {
      formulas = loaded;
      if (placeholder.isConnected) loaded.renderFormula(placeholder, tex, display !== undefined);
    });
}

/** References without a footnote stay as they were written. */
function fillNote(placeholder: HTMLElement, notes: readonly string[]): void {
  const { note = '' } = placeholder.dataset;
  const defines = placeholder.classList.contains('footnote');
  if (!defines && !notes.includes(note)) {
    placeholder.replaceWith(...placeholder.childNodes);
    return;
  }
  const button = document.createElement('button');
  button.type = 'button';
  button.dataset.to = note;
  button.textContent = note;
  button.setAttribute('aria-label', texts.footnote(note));
  if (defines) {
    button.title = texts.backToText;
    placeholder.prepend(button, ' ');
  } else placeholder.replaceChildren(button);
}

function fillCitation(placeholder: HTMLElement, sources: readonly string[]): void {
  const numbers = validNumbers(placeholder.dataset.cite ?? '', sources.length);
  if (numbers.length === 0) {
    placeholder.replaceWith(...placeholder.childNodes);
    return;
  }
  // It stands at the word before it.
  const { previousSibling: before } = placeholder;
  if (before instanceof Text) before.data = before.data.trimEnd();
  placeholder.replaceChildren(
    ...numbers.map((number) => {
      const button = document.createElement('button');
      const about = sources[number - 1] ?? '';
      button.type = 'button';
      button.dataset.source = String(number - 1);
      button.textContent = String(number);
      button.title = about;
      button.setAttribute('aria-label', texts.cited(number, about.split('\n', 1)[0] ?? ''));
      return button;
    }),
  );
}
