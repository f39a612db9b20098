import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

// Pages in Arabic are laid out from right to left: styles name the start and the end of a line, not its left and right.

const root = fileURLToPath(new URL('./src/', import.meta.url));
const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .map((name) => name.replaceAll('\\', '/'))
  .filter((name) => /\.(css|svelte)$/.test(name));

/** Styles that are physical in every language: of pictures, and of what is at the middle. */
const exceptions: Readonly<Record<string, readonly string[]>> = {
  // Where the pointer is on the image.
  'draw/MaskEditor.svelte': ['style:left', 'transform: translate(-50%, -50%)'],
  // Turned.
  'settings-dialog/SamplerPanel.svelte': ['border-width: 0 1.75px 1.75px 0'],
  // What a table of Markdown asks for.
  'markdown/markdown.css': ['text-align: right'],
  // Measured in the window.
  'ui/Menu.svelte': ['translateX($'],
};

const physical = [
  /(margin|padding|border|scroll-margin|scroll-padding)-(left|right)/g,
  /(?<=[\s;{])(left|right): /g,
  /style:(left|right|margin-left|margin-right)/g,
  /(text-align|float|clear): (left|right)/g,
  /border-(top|bottom)-(left|right)-radius/g,
  /(transform: )?translate(X|3d)?\((?!calc\([^;]*var\(--forward\))[^;]{1,20}/g,
];

/** Shorthands of four sides or corners, when the two at the sides differ. */
const shorthand = /(?<=[\s;{])(margin|padding|inset|border-width|border-radius|border-color|border-style): ([^;}]+)/g;
const valuesOf = (text: string): string[] => text.trim().match(/(?:[^\s(]|\([^()]*(?:\([^()]*\)[^()]*)*\))+/g) ?? [];

function isLopsided([, property = '', text = '']: RegExpMatchArray): boolean {
  const [first, second, third, fourth] = valuesOf(text);
  if (fourth === undefined) return false;
  return property === 'border-radius' ? first !== second || third !== fourth : second !== fourth;
}

function physicalStyles(name: string): string[] {
  const source = readFileSync(root + name, 'utf8');
  const style = source.replace(/<script[\s\S]*?<\/script>|\/\*[\s\S]*?\*\//g, '');
  const found = [
    ...physical.flatMap((pattern) => style.match(pattern) ?? []),
    ...[...style.matchAll(shorthand)].filter(isLopsided).map(([text]) => text),
  ];
  const allowed = exceptions[name] ?? [];
  return found.filter((text) => !allowed.some((one) => text.trim().startsWith(one)));
}

test('styles: follow the direction of the language', () => {
  expect(files.length).toBeGreaterThan(100);
  expect(files.flatMap((name) => physicalStyles(name).map((style) => `${name}: ${style}`))).toEqual([]);
});

test('fields of any text: have a placeholder, by which styles know that they are empty', () => {
  const fields = /<(?:input|textarea)\b(?:[^>{]|\{(?:[^{}]|\{[^{}]*\})*\})*>/g;
  const without = files.flatMap((name) => {
    const tags = readFileSync(root + name, 'utf8').match(fields) ?? [];
    return tags
      .filter((tag) => tag.includes('dir="auto"') && !/\bplaceholder\b/.test(tag))
      .map((tag) => `${name}: ${tag}`);
  });
  expect(without).toEqual([]);
});

test('exceptions: each of them is still there', () => {
  for (const [name, styles] of Object.entries(exceptions))
    for (const style of styles) expect(readFileSync(root + name, 'utf8')).toContain(style);
});
