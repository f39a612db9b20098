import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Voice } from '../../../core/speech.ts';
import type { SpokenLanguage } from './phonemes.ts';

/** The first letter of a name. Japanese (j) and Chinese (z) are left out: eSpeak has no phonemes for them that the model knows. */
const languages: Readonly<
  Record<string, { readonly spoken: SpokenLanguage; readonly code: string; readonly adjective: string }>
> = {
  a: { spoken: 'en-us', code: 'en', adjective: 'American' },
  b: { spoken: 'en-gb', code: 'en', adjective: 'British' },
  e: { spoken: 'es', code: 'es', adjective: 'Spanish' },
  f: { spoken: 'fr', code: 'fr', adjective: 'French' },
  h: { spoken: 'hi', code: 'hi', adjective: 'Indian' },
  i: { spoken: 'it', code: 'it', adjective: 'Italian' },
  p: { spoken: 'pt-br', code: 'pt', adjective: 'Brazilian' },
};

/** By language, the best first, as their makers rate them. */
const names =
  'af_heart af_bella af_nicole af_aoede af_kore af_sarah af_alloy af_nova af_sky af_jessica af_river ' +
  'am_michael am_fenrir am_puck am_echo am_eric am_liam am_onyx am_santa am_adam ' +
  'bf_emma bf_isabella bf_alice bf_lily bm_george bm_fable bm_lewis bm_daniel ' +
  'ef_dora em_alex em_santa ff_siwis hf_alpha hf_beta hm_omega hm_psi if_sara im_nicola pf_dora pm_alex pm_santa';

/** The names of OpenAI. */
const aliases: Readonly<Record<string, readonly string[]>> = {
  af_alloy: ['alloy'],
  af_nova: ['nova'],
  af_bella: ['coral'],
  af_sarah: ['sage'],
  af_kore: ['shimmer'],
  af_aoede: ['marin'],
  am_echo: ['echo'],
  am_onyx: ['onyx'],
  am_michael: ['ash'],
  am_fenrir: ['verse'],
  am_puck: ['cedar'],
  bm_fable: ['fable'],
  bm_george: ['ballad'],
};

export const kokoroVoices: readonly Voice[] = names.split(' ').map((name) => {
  const sound = name[1] === 'f' ? 'female' : 'male';
  const { code, adjective } = languageOf(name);
  const known = aliases[name];
  return {
    name,
    language: code,
    sound,
    description: `${adjective} ${sound === 'female' ? 'woman' : 'man'}`,
    ...(known ? { aliases: known } : {}),
  };
});

function languageOf(name: string) {
  const language = languages[name[0] ?? ''];
  if (!language) throw new Error(`the voice ${name} has no language`);
  return language;
}

/** A voice, or several with their weights. */
export type Blend = readonly { readonly name: string; readonly weight: number }[];

/** Reads `af_heart` or `af_heart(2)+am_adam(1)`. */
export function readBlend(voice: string): Blend {
  return voice.split('+').map((part) => {
    const [, name = '', weight = '1'] = /^\s*([^()\s]*)\s*(?:\(\s*([\d.]+)\s*\))?\s*$/.exec(part) ?? [];
    if (!kokoroVoices.some((known) => known.name === name)) throw new Error(`there is no voice ${part}`);
    return { name, weight: Number(weight) };
  });
}

/** The language of a blend is that of its first voice. */
export function spokenLanguage(blend: Blend): SpokenLanguage {
  return languageOf(blend[0]?.name ?? '').spoken;
}

/** A voice has a style vector for each length of text. */
export const styleLength = 256;

/** Of one voice: the vectors for 1, 2, 3, … tokens. */
type StyleTable = Float32Array;

/** Reads the tables of voices once each. */
export class StyleTables {
  readonly #read = new Map<string, Promise<StyleTable>>();

  constructor(private readonly folder: string) {}

  table(voice: string): Promise<StyleTable> {
    const known = this.#read.get(voice);
    if (known) return known;
    const reading = this.#load(voice);
    this.#read.set(voice, reading);
    reading.catch(() => this.#read.delete(voice));
    return reading;
  }

  async #load(voice: string): Promise<StyleTable> {
    const bytes = await readFile(join(this.folder, `${voice}.bin`));
    if (bytes.length === 0 || bytes.length % (4 * styleLength) !== 0) {
      throw new Error(`the voice ${voice} is damaged. Run: parley pack repair voices`);
    }
    // In memory of its own, whose start is aligned.
    return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
  }

  /** The style of a blend for a text of this many tokens. */
  async style(blend: Blend, tokens: number): Promise<Float32Array> {
    const tables = await Promise.all(
      blend.map(async ({ name, weight }) => ({ table: await this.table(name), weight })),
    );
    return blendStyles(tables, tokens);
  }
}

/** The weighted mean of the vectors for this number of tokens. */
export function blendStyles(
  tables: readonly { readonly table: StyleTable; readonly weight: number }[],
  tokens: number,
): Float32Array {
  const total = tables.reduce((sum, { weight }) => sum + weight, 0);
  const style = new Float32Array(styleLength);
  for (const { table, weight } of tables) {
    const last = table.length / styleLength - 1;
    const start = styleLength * Math.min(last, Math.max(0, tokens - 1));
    for (let index = 0; index < styleLength; index++) {
      style[index] = (style[index] as number) + ((table[start + index] as number) * weight) / total;
    }
  }
  return style;
}
