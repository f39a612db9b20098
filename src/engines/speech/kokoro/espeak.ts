import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Ipa, SpokenLanguage } from './phonemes.ts';

/** The used part of the package, which has no types. */
interface Speaker {
  /** Returns 0 if it is known. */
  set_voice(name: string): number;
  synthesize_ipa(text: string): { readonly code: number; readonly ipa: string };
}

interface Program {
  readonly eSpeakNGWorker: new () => Speaker;
}

/** The names of eSpeak for its voices. */
const espeakNames: Readonly<Record<SpokenLanguage, string>> = {
  'en-us': 'en-us',
  'en-gb': 'en',
  es: 'es',
  fr: 'fr',
  hi: 'hi',
  it: 'it',
  'pt-br': 'pt-br',
};

/** Tells how the words of a text are pronounced. */
type Pronounce = (text: string, language: SpokenLanguage) => Ipa;

/** eSpeak NG in WebAssembly, from the folder of its package. */
export async function openEspeak(folder: string): Promise<Pronounce> {
  const { default: load } = (await import(pathToFileURL(join(folder, 'espeak-ng.js')).href)) as {
    default: (options: object) => Promise<Program>;
  };
  const data = await readFile(join(folder, 'espeak-ng.data'));
  const getPreloadedPackage = () => data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength);
  const { eSpeakNGWorker } = await load({ getPreloadedPackage, print: () => undefined, printErr: () => undefined });
  const speaker = new eSpeakNGWorker();
  let set: SpokenLanguage | undefined;
  return (text, language) => {
    if (set !== language && speaker.set_voice(espeakNames[language]) !== 0) {
      throw new Error(`eSpeak has no voice ${espeakNames[language]}`);
    }
    set = language;
    const { code, ipa } = speaker.synthesize_ipa(text);
    if (code !== 0) throw new Error(`eSpeak ended with ${code}`);
    return ipa;
  };
}
