import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'svelte/compiler';
import { expect, test } from 'vitest';

// The sentences of the pages are in the `texts.ts` of each folder, so that they can be read as a list, and translated.

const root = fileURLToPath(new URL('./src', import.meta.url));
const components = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.svelte'));

/** Attributes that people read or hear, of elements and of our components. */
const spoken = new Set(['alt', 'aria-label', 'aria-description', 'label', 'placeholder', 'title', 'hint', 'heading']);
/** Elements whose content is the same in every language. */
const verbatim = new Set(['code', 'kbd', 'style', 'script']);
/** Names and file formats. */
const names = new Set([
  'Parley',
  'JSON',
  'MCP',
  'GBNF',
  'Markdown',
  'ShareGPT',
  'CFG',
  'LoRA',
  'URL',
  'API',
  'PNG',
  'SVG',
]);

interface Node {
  readonly type?: string;
  readonly name?: string;
  readonly data?: string;
}

function isSentence(text: string): boolean {
  const words = text.match(/\p{L}{2,}/gu) ?? [];
  return words.some((word) => !names.has(word));
}

function* literals(node: unknown, attribute = ''): Generator<string> {
  if (Array.isArray(node)) for (const inner of node) yield* literals(inner, attribute);
  else if (typeof node === 'object' && node !== null) {
    const { type, name = '', data = '' } = node as Node;
    if (type === 'StyleDirective' || (type === 'RegularElement' && verbatim.has(name))) return;
    if (type === 'Attribute') {
      if (spoken.has(name)) yield* literals((node as { value?: unknown }).value, name);
      return;
    }
    if (type === 'Text' && isSentence(data)) yield data.trim();
    if (type?.endsWith('Expression') && type !== 'ExpressionTag') return;
    for (const [key, inner] of Object.entries(node))
      if (key !== 'expression' && key !== 'parent') yield* literals(inner);
  }
}

test('there are components to check', () => {
  expect(components.length).toBeGreaterThan(50);
});

test.each(components)('%s: has its sentences in texts.ts', (name) => {
  const { fragment } = parse(readFileSync(join(root, name), 'utf8'), { modern: true });
  expect([...literals(fragment)]).toEqual([]);
});
