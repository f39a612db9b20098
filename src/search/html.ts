/** What a page is made of, in its order. Comments, scripts and styles are left out. */
export type HtmlPiece =
  | { readonly type: 'text'; readonly text: string }
  /** `inside` is what stands between the name and the bracket: `attributeOf` reads it. */
  | { readonly type: 'open'; readonly name: string; readonly inside: string }
  | { readonly type: 'close'; readonly name: string };

const hidden: ReadonlySet<string> = new Set(['script', 'style', 'textarea', 'iframe', 'noembed', 'xmp', 'template']);

/**
 * Cuts a page into pieces, whatever it looks like, in a time that grows with its length: every search goes on from where the
 * last one ended, and one that finds nothing ends the page.
 */
export function* htmlPieces(html: string): Generator<HtmlPiece, void> {
  let place = 0;
  let quotes = true;
  while (place < html.length) {
    const open = html.indexOf('<', place);
    const text = html.slice(place, open === -1 ? undefined : open);
    if (text !== '') yield { type: 'text', text: withoutEntities(text) };
    if (open === -1) return;
    if (html.startsWith('<!--', open)) {
      const end = html.indexOf('-->', open + 4);
      if (end === -1) return;
      place = end + 3;
      continue;
    }
    const name = nameAt(html, open);
    if (name === undefined) {
      // A bracket that begins no tag is a character like others, unless it begins a declaration.
      const declares = html[open + 1] === '!' || html[open + 1] === '?' || html[open + 1] === '/';
      const end = declares ? html.indexOf('>', open) : open;
      if (end === -1) return;
      if (!declares) yield { type: 'text', text: '<' };
      place = end + 1;
      continue;
    }
    const begin = open + (name.closes ? 2 : 1) + name.length;
    let end = quotes ? tagEnd(html, begin) : html.indexOf('>', begin);
    if (end === -1 && quotes) {
      // A quote that never ends would swallow the rest of the page; from here on none counts.
      quotes = false;
      end = html.indexOf('>', begin);
    }
    if (end === -1) return;
    place = end + 1;
    if (name.closes) yield { type: 'close', name: name.word };
    else yield { type: 'open', name: name.word, inside: html.slice(begin, end) };
    if (name.closes || !hidden.has(name.word)) continue;
    place = closingTag(html, name.word, place);
    if (place === -1) return;
  }
}

/** The value of an attribute; undefined where the tag has none of that name. */
export function attributeOf(inside: string, wanted: string): string | undefined {
  const attributes = /([^\s=>"'/]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/g;
  // Nobody writes more into a tag that we would want to read.
  for (const [, name = '', double, single, bare] of inside.slice(0, 8192).matchAll(attributes)) {
    if (name.toLowerCase() === wanted) return withoutEntities(double ?? single ?? bare ?? '');
  }
  return undefined;
}

interface TagName {
  readonly word: string;
  readonly length: number;
  readonly closes: boolean;
}

function nameAt(html: string, open: number): TagName | undefined {
  const found = /^<(\/?)([a-z][a-z0-9-]{0,39})/i.exec(html.slice(open, open + 44));
  if (!found) return undefined;
  const [, slash, word = ''] = found;
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

const named: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  shy: '',
  ndash: '–',
  mdash: '—',
  hellip: '…',
  lsquo: '‘',
  rsquo: '’',
  ldquo: '“',
  rdquo: '”',
  laquo: '«',
  raquo: '»',
  middot: '·',
  bull: '•',
  copy: '©',
  reg: '®',
  trade: '™',
  euro: '€',
  pound: '£',
  deg: '°',
  times: '×',
  auml: 'ä',
  ouml: 'ö',
  uuml: 'ü',
  Auml: 'Ä',
  Ouml: 'Ö',
  Uuml: 'Ü',
  szlig: 'ß',
  eacute: 'é',
  egrave: 'è',
  agrave: 'à',
  ccedil: 'ç',
  ntilde: 'ñ',
};

function withoutEntities(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-zA-Z]{2,8}));/g, (whole, decimal, hex, word) => {
    if (word !== undefined) return Object.hasOwn(named, word) ? (named[word] ?? whole) : whole;
    return character(decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal));
  });
}

function character(code: number): string {
  const real = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
  return real ? String.fromCodePoint(code) : '\ufffd';
}
