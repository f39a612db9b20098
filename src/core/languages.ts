/** Languages of Whisper, as two-letter codes. */
const codes =
  'af am ar as az ba be bg bn bo br bs ca cs cy da de el en es et eu fa fi fo fr gl gu ha he hi hr ht hu hy id is it ja jw ka kk km kn ko la lb ln lo lt lv mg mi mk ml mn mr ms mt my ne nl nn no oc pa pl ps pt ro ru sa sd si sk sl sn so sq sr su sv sw ta te tg th tk tl tr tt uk ur uz vi yi yo zh';

/** Names that `Intl.DisplayNames` does not have. */
const otherNames: Readonly<Record<string, string>> = {
  burmese: 'my',
  castilian: 'es',
  flemish: 'nl',
  haitian: 'ht',
  javanese: 'jw',
  mandarin: 'zh',
  moldavian: 'ro',
  panjabi: 'pa',
  pashto: 'ps',
  sinhalese: 'si',
  tagalog: 'tl',
  valencian: 'ca',
};

export const languageCodes: readonly string[] = codes.split(' ');

interface Names {
  readonly byCode: ReadonlyMap<string, string>;
  readonly codes: ReadonlyMap<string, string>;
}

let known: Names | undefined;

/** Made when first needed: making them takes 20 ms. */
function names(): Names {
  if (known) return known;
  const display = new Intl.DisplayNames('en', { type: 'language' });
  // An obsolete code that Whisper uses.
  const nameOf = (code: string) => (code === 'jw' ? 'javanese' : (display.of(code) ?? code).toLowerCase());
  const byCode = new Map(languageCodes.map((code) => [code, nameOf(code)]));
  const codes = new Map([...[...byCode].map(([code, name]) => [name, code] as const), ...Object.entries(otherNames)]);
  known = { byCode, codes };
  return known;
}

/** `english` for `en`; an unknown code is its own name. */
export const languageName = (code: string): string => names().byCode.get(code) ?? code;

/** `en` for `en`, `EN-us` or `English`; undefined for an unknown language. */
export function languageCode(text: string): string | undefined {
  const name = text.trim().toLowerCase();
  const [first = ''] = name.split(/[-_]/);
  return names().byCode.has(first) ? first : names().codes.get(name);
}
