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

const display = new Intl.DisplayNames('en', { type: 'language' });
const nameByCode: ReadonlyMap<string, string> = new Map(languageCodes.map((code) => [code, ownName(code)]));
const codeByName: ReadonlyMap<string, string> = new Map([
  ...[...nameByCode].map(([code, name]) => [name, code] as const),
  ...Object.entries(otherNames),
]);

/** `english` for `en`; an unknown code is its own name. */
export const languageName = (code: string): string => nameByCode.get(code) ?? code;

/** `en` for `en`, `EN-us` or `English`; undefined for an unknown language. */
export function languageCode(text: string): string | undefined {
  const word = text.trim().toLowerCase();
  const [first = ''] = word.split(/[-_]/);
  return nameByCode.has(first) ? first : codeByName.get(word);
}

function ownName(code: string): string {
  // An obsolete code that Whisper uses.
  if (code === 'jw') return 'javanese';
  return (display.of(code) ?? code).toLowerCase();
}
