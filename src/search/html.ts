/** The tags and texts of a page, or of XML, in order, without comments, scripts and styles. Names are in lower case. */
export type HtmlPiece =
  | { readonly type: 'text'; readonly text: string }
  /** `inside` is the text between name and bracket, for `attributeOf`. */
  | { readonly type: 'open'; readonly name: string; readonly inside: string }
  | { readonly type: 'close'; readonly name: string };

const hidden: ReadonlySet<string> = new Set(['script', 'style', 'textarea', 'iframe', 'noembed', 'xmp', 'template']);

/** The longest piece of text, so that the caller can yield between pieces. */
const maxTextLength = 16_384;
/** The longest known entity; text is not cut inside one. */
const maxEntityLength = 10;
/** After this many comments and declarations in a row an empty piece follows, for the same reason. */
const maxSkipped = 500;

/** Splits any page into pieces in linear time: each search starts where the last one ended, and one without a result ends it. */
export function* htmlPieces(html: string): Generator<HtmlPiece, void> {
  let position = 0;
  let quotes = true;
  let silent = 0;
  let bracket = -1;
  while (position < html.length) {
    const limit = Math.min(position + maxTextLength, html.length);
    let open = position;
    for (;;) {
      if (bracket < open) bracket = html.indexOf('<', open);
      if (bracket === -1) bracket = html.length;
      open = Math.min(bracket, limit);
      if (open === limit || isMarkup(html, open)) break;
      open += 1;
    }
    if (open > position) {
      const end = open === limit ? textEnd(html, limit) : open;
      yield { type: 'text', text: withoutEntities(html.slice(position, end)) };
      position = end;
      continue;
    }
    const name = nameAt(html, open);
    if (name === undefined) {
      if (html.startsWith('<![CDATA[', open)) {
        const close = html.indexOf(']]>', open);
        position = close === -1 ? html.length : close + 3;
        yield { type: 'text', text: html.slice(open + 9, close === -1 ? undefined : close) };
        continue;
      }
      const end = html.startsWith('<!--', open) ? html.indexOf('-->', open + 4) + 2 : html.indexOf('>', open);
      if (end <= open) return;
      position = end + 1;
      silent += 1;
      if (silent % maxSkipped === 0) yield { type: 'text', text: '' };
      continue;
    }
    const begin = open + (name.closes ? 2 : 1) + name.length;
    let end = quotes ? tagEnd(html, begin) : html.indexOf('>', begin);
    if (end === -1 && quotes) {
      // A quote without an end would hide the rest of the page: quotes are ignored from here on.
      quotes = false;
      end = html.indexOf('>', begin);
    }
    if (end === -1) return;
    position = end + 1;
    if (name.closes) yield { type: 'close', name: name.word };
    else yield { type: 'open', name: name.word, inside: html.slice(begin, end) };
    if (name.closes || !hidden.has(name.word)) continue;
    position = closingTag(html, name.word, position);
    if (position === -1) return;
  }
}

/** Whether a bracket begins a tag, comment or declaration. */
function isMarkup(html: string, open: number): boolean {
  const next = html.charCodeAt(open + 1);
  const isLetter = (next | 32) >= 97 && (next | 32) <= 122;
  return isLetter || next === 33 || next === 47 || next === 63;
}

/** Close to `end`, but not inside an entity. */
function textEnd(html: string, end: number): number {
  if (end === html.length) return end;
  const before = html.slice(end - maxEntityLength, end);
  const ampersand = before.lastIndexOf('&');
  return ampersand === -1 ? end : end - before.length + ampersand;
}

/** The value of an attribute; undefined where the tag has none of that name. */
export function attributeOf(inside: string, attribute: string): string | undefined {
  const attributes = /([^\s=>"'/]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/g;
  // Longer tags are not needed.
  for (const [, name = '', double, single, bare] of inside.slice(0, 8192).matchAll(attributes)) {
    if (name.toLowerCase() === attribute) return withoutEntities(double ?? single ?? bare ?? '');
  }
  return undefined;
}

function nameAt(html: string, open: number) {
  const match = /^<(\/?)([a-z][a-z0-9:_.-]{0,39})/i.exec(html.slice(open, open + 44));
  if (!match) return undefined;
  const [, slash, word = ''] = match;
  return { word: word.toLowerCase(), length: word.length, closes: slash === '/' };
}

/** The bracket that ends a tag: one in a quoted value does not. */
function tagEnd(html: string, from: number): number {
  let before = '';
  for (let index = from; index < html.length; index++) {
    const character = html[index] ?? '';
    if (character === '>') return index;
    if (before === '=' && (character === '"' || character === "'")) {
      index = html.indexOf(character, index + 1);
      if (index === -1) return -1;
    }
    if (character !== ' ' && character !== '\n') before = character;
  }
  return -1;
}

/** Where the closing tag begins, or -1. */
function closingTag(html: string, name: string, from: number): number {
  const search = new RegExp(`</${name}`, 'gi');
  search.lastIndex = from;
  return search.exec(html)?.index ?? -1;
}

/** The names of entities, each with its character behind it. */
const entities = `amp& lt< gt> quot" apos' ndash– mdash— hellip… lsquo‘ rsquo’ ldquo“ rdquo” laquo« raquo» middot· bull•
  copy© reg® trade™ euro€ pound£ deg° times× aumlä oumlö uumlü AumlÄ OumlÖ UumlÜ szligß eacuteé egraveè ecircê
  agraveà aacuteá iacuteí oacuteó uacuteú ccedilç ntildeñ sbquo‚ bdquo„ sect§`;
const named: ReadonlyMap<string, string> = new Map([
  ['nbsp', ' '],
  ['shy', ''],
  ...entities.split(/\s+/).map((entity) => [entity.slice(0, -1), entity.slice(-1)] as const),
]);

function withoutEntities(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-zA-Z]{2,8}));/g, (whole, decimal, hex, word) => {
    if (word !== undefined) return named.get(word) ?? whole;
    return character(decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal));
  });
}

function character(code: number): string {
  const real = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
  return real ? String.fromCodePoint(code) : '\ufffd';
}
