import { locale } from '../languages/index.ts';

/** Languages of Whisper models. */
const whisper =
  'af am ar as az ba be bg bn bo br bs ca cs cy da de el en es et eu fa fi fo fr gl gu ha haw he hi hr ht hu hy id is it ja jw ka kk km kn ko la lb ln lo lt lv mg mi mk ml mn mr ms mt my ne nl nn no oc pa pl ps pt ro ru sa sd si sk sl sn so sq sr su sv sw ta te tg th tk tl tr tt uk ur uz vi yi yo zh';

/** Names that some browsers do not have. `jw` is Whisper's own code. */
const names: Readonly<Record<string, string>> = { ba: 'Bashkir', bo: 'Tibetan', jw: 'Javanese' };

export interface Language {
  readonly code: string;
  readonly name: string;
}

/** By name; those without one are left out. Default: the languages of Whisper. */
export function languages(
  codes: readonly string[] = whisper.split(' '),
  display: Pick<Intl.DisplayNames, 'of'> = new Intl.DisplayNames(locale, { type: 'language', fallback: 'none' }),
): readonly Language[] {
  return codes
    .flatMap((code) => {
      const name = names[code] ?? display.of(code);
      return name === undefined ? [] : [{ code, name }];
    })
    .sort((a, b) => a.name.localeCompare(b.name, locale));
}
