import { languageName } from '../languages/index.ts';
import { texts } from './texts.ts';

const { american, british, scottish, female, male, telephone } = texts.voices;

/** The built-in voices. */
const builtIn: Readonly<Record<string, readonly [name: string, ...facts: string[]]>> = {
  slt: ['Slt', american, female],
  rms: ['Rms', american, male],
  awb: ['Awb', scottish, male],
  kal16: ['Kal', american, male],
  kal: ['Kal', american, male, telephone],
};

/** First letter of the names of Kokoro voices; languages are codes. */
const kokoroAccents: Readonly<Record<string, string>> = {
  a: american,
  b: british,
  e: 'es',
  f: 'fr',
  h: 'hi',
  i: 'it',
  j: 'ja',
  p: 'pt',
  z: 'zh',
};

/** Whether a list is that of the built-in engine: the pack has better voices. */
export function isBuiltIn(voices: readonly string[]): boolean {
  return voices.some((id) => Object.hasOwn(builtIn, id));
}

/** A readable name for the id of a voice, such as `Bella (American, female)` for `af_bella`. */
export function voiceLabel(id: string): string {
  const [name, ...facts] = builtIn[id] ?? kokoro(id) ?? piper(id) ?? sample(id) ?? numbered(id) ?? [titled(id)];
  return facts.length === 0 ? name : texts.voices.with(name, facts.join(', '));
}

type Label = readonly [name: string, ...facts: string[]];

function kokoro(id: string): Label | undefined {
  const [, accent = '', sound, name] = /^([abefhijpz])([fm])(?:_(\w+))?$/.exec(id) ?? [];
  if (sound === undefined) return undefined;
  const language = kokoroAccents[accent] ?? '';
  const readable = language.length === 2 ? languageName(language) : language;
  return [name ? titled(name) : texts.voices.standard, readable, sound === 'f' ? female : male];
}

/** `en_US-amy-medium` */
function piper(id: string): Label | undefined {
  const [, language, region, name] = /^([a-z]{2,3})_([A-Z]{2})-([^-]+)-(?:x_low|low|medium|high)$/.exec(id) ?? [];
  return language && region && name ? [titled(name), languageName(`${language}-${region}`)] : undefined;
}

function sample(id: string): Label | undefined {
  const [, name] = /^(.+)\.(?:wav|mp3)$/i.exec(id) ?? [];
  return name ? [titled(name), texts.voices.sample] : undefined;
}

/** `vits-vctk-0`: counted from 0. */
function numbered(id: string): Label | undefined {
  const [, name, number] = /^(.+)-(\d+)$/.exec(id) ?? [];
  return name && number ? [texts.voices.numbered(titled(name), Number(number) + 1)] : undefined;
}

function titled(name: string): string {
  const words = name.replace(/[_-]+/g, ' ').trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}
