import { languageName } from './voices.ts';

/** Languages of Whisper models. */
const codes =
  'af am ar as az ba be bg bn bo br bs ca cs cy da de el en es et eu fa fi fo fr gl gu ha haw he hi hr ht hu hy id is it ja jv ka kk km kn ko la lb ln lo lt lv mg mi mk ml mn mr ms mt my ne nl nn no oc pa pl ps pt ro ru sa sd si sk sl sn so sq sr su sv sw ta te tg th tk tl tr tt uk ur uz vi yi yo zh';

export interface Language {
  readonly code: string;
  readonly name: string;
}

/** By name. Whisper has its own code for Javanese. */
export function languages(): readonly Language[] {
  return codes
    .split(' ')
    .map((code) => ({ code: code === 'jv' ? 'jw' : code, name: languageName(code) }))
    .sort((a, b) => a.name.localeCompare(b.name, 'en'));
}
