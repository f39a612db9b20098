import { previewKind } from './preview-kind.ts';
import { texts } from './texts.ts';

/** Interval and maximum length for highlighting a growing code block; the newest part stays plain until then. */
const colouredEachMs = 400;
const quicklyColoured = 8000;
/** Longer code is shown without colors: highlighting it would block the page. */
const maxColoured = 60_000;
/** Per growing code block: the length shown, and when it was highlighted. */
const growing = new WeakMap<Element, { opening: string; shown: number; colouredAt: number }>();

let highlight: typeof import('./highlight.ts') | undefined;

/** Remembers a rendered code block, so that new text can be appended to it. */
export function startGrowing(target: HTMLElement, { opening, body }: OpenCode): void {
  const shown = target.querySelector('pre > code');
  if (shown) growing.set(shown, { opening, shown: body.length, colouredAt: performance.now() });
}

/** Appends new text to a code block that is already rendered, instead of rendering it again. */
export function growCode(target: HTMLElement, { opening, language, body }: OpenCode): boolean {
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

/** Adds a head with the language and buttons to a code block, colors it, and shows diagrams and images. */
export function frameCode(code: HTMLElement, open: boolean): void {
  const language = /\blanguage-([\w+#.-]+)/.exec(code.className)?.[1] ?? '';
  const pre = code.parentElement;
  if (!pre) return;
  const text = code.textContent ?? '';
  const frame = document.createElement('div');
  frame.className = 'code';
  const head = document.createElement('div');
  head.className = 'code-head';
  const name = document.createElement('span');
  name.textContent = language || texts.plainText;
  const copy = document.createElement('button');
  copy.type = 'button';
  copy.className = 'copy-code';
  copy.textContent = texts.copyCode;
  head.append(name, copy);
  pre.replaceWith(frame);
  pre.tabIndex = 0;
  // Text without a language may be prose.
  pre.dir = language === '' ? 'auto' : 'ltr';
  frame.append(head, pre);
  const kind = open ? undefined : previewKind(language, text);
  if (kind) void import('./preview.ts').then(({ addPreview }) => addPreview(frame, text, kind));
  colour(code, text, language, open);
}

function colour(code: HTMLElement, text: string, language: string, open: boolean): void {
  if (language === '' || text.length > (open ? quicklyColoured : maxColoured)) return;
  if (highlight) highlight.highlightCode(code, text, language);
  else
    void import('./highlight.ts').then((loaded) => {
      highlight = loaded;
      if (code.isConnected) loaded.highlightCode(code, text, language);
    });
}

export interface OpenCode {
  /** The opening line. */
  readonly opening: string;
  readonly language: string;
  readonly body: string;
}

/** A code block without a closing fence; undefined for any other block. */
export function openCode(markdown: string): OpenCode | undefined {
  const [whole, marks = '', info = ''] = /^(`{3,}|~{3,})([^\n]*)\n/.exec(markdown) ?? [];
  if (whole === undefined) return undefined;
  const body = markdown.slice(whole.length);
  const end = new RegExp(`^ {0,3}${marks.charAt(0)}{${marks.length},}[ \\t]*$`, 'm');
  if (end.test(body)) return undefined;
  return { opening: whole, language: info.trim().split(/\s/, 1)[0] ?? '', body };
}
