import createPurifier from 'dompurify';
import { type OpenCode, openCode } from './open-code.ts';
import { htmlOf } from './syntax.ts';

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
  ALLOWED_ATTR: [
    'href',
    'title',
    'align',
    'class',
    'start',
    'alt',
    'src',
    'type',
    'checked',
    'disabled',
    'data-tex',
    'data-display',
  ],
  RETURN_DOM_FRAGMENT: true,
} as const;

/** Interval and maximum length for highlighting a growing code block; the newest part stays plain until then. */
const colouredEachMs = 400;
const quicklyColoured = 8000;
/** Per growing code block: the length shown, and when it was highlighted. */
const growing = new WeakMap<Element, { opening: string; shown: number; colouredAt: number }>();

type Highlight = typeof import('./highlight.ts');
type Formulas = typeof import('./formulas.ts');
let highlight: Highlight | undefined;
let formulas: Formulas | undefined;

/** Renders one block of markdown. `open`: the block is still growing. */
export function renderBlock(target: HTMLElement, markdown: string, open: boolean): void {
  const code = open ? openCode(markdown) : undefined;
  if (code && growCode(target, code)) return;
  const fragment = purifier.sanitize(htmlOf(markdown), {
    ...allowed,
    ALLOWED_TAGS: [...allowed.ALLOWED_TAGS],
    ALLOWED_ATTR: [...allowed.ALLOWED_ATTR],
  });
  for (const code of fragment.querySelectorAll<HTMLElement>('pre > code')) frameCode(code, open);
  for (const table of fragment.querySelectorAll('table')) wrapTable(table);
  for (const place of fragment.querySelectorAll<HTMLElement>('.maths')) fillFormula(place);
  for (const box of fragment.querySelectorAll('input')) box.setAttribute('aria-label', 'Done');
  target.replaceChildren(fragment);
  const shown = code && target.querySelector('pre > code');
  if (shown) growing.set(shown, { opening: code.opening, shown: code.body.length, colouredAt: performance.now() });
}

/** Appends new text to a code block that is already rendered, instead of rendering it again. */
function growCode(target: HTMLElement, { opening, language, body }: OpenCode): boolean {
  const code = target.querySelector<HTMLElement>('pre > code');
  const before = code && growing.get(code);
  if (!code || before?.opening !== opening || before.shown > body.length) return false;
  const now = performance.now();
  if (highlight && language !== '' && body.length < quicklyColoured && now - before.colouredAt > colouredEachMs) {
    highlight.highlightCode(code, body, language);
    before.colouredAt = performance.now();
  } else code.append(body.slice(before.shown));
  before.shown = body.length;
  return true;
}

function frameCode(code: HTMLElement, open: boolean): void {
  const language = /\blanguage-([\w+#.-]+)/.exec(code.className)?.[1] ?? '';
  const pre = code.parentElement;
  if (!pre) return;
  const frame = document.createElement('div');
  frame.className = 'code';
  const head = document.createElement('div');
  head.className = 'code-head';
  const name = document.createElement('span');
  name.textContent = language || 'text';
  const copy = document.createElement('button');
  copy.type = 'button';
  copy.className = 'copy-code';
  copy.textContent = 'Copy code';
  head.append(name, copy);
  pre.replaceWith(frame);
  pre.tabIndex = 0;
  frame.append(head, pre);
  const text = code.textContent ?? '';
  if (language === '' || (open && text.length > quicklyColoured)) return;
  if (highlight) highlight.highlightCode(code, text, language);
  else
    void import('./highlight.ts').then((loaded) => {
      highlight = loaded;
      if (code.isConnected) loaded.highlightCode(code, text, language);
    });
}

function wrapTable(table: HTMLTableElement): void {
  const frame = document.createElement('div');
  frame.className = 'table';
  frame.tabIndex = 0;
  frame.setAttribute('role', 'region');
  frame.setAttribute('aria-label', 'Table');
  table.replaceWith(frame);
  frame.append(table);
}

function fillFormula(place: HTMLElement): void {
  const { tex = '', display } = place.dataset;
  if (formulas) formulas.renderFormula(place, tex, display !== undefined);
  else
    void import('./formulas.ts').then((loaded) => {
      formulas = loaded;
      if (place.isConnected) loaded.renderFormula(place, tex, display !== undefined);
    });
}
