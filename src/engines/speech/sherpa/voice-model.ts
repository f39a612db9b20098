import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Voice } from '../../../core/speech.ts';
import { findEspeakData } from './espeak-data.ts';
import { readOnnxMetadata } from './onnx-metadata.ts';
import { piperVoices, readPiperVoice } from './piper.ts';

/** A voice model as the library is to load it: which kind, and where its parts are. */
export interface VoiceModel {
  readonly kind: 'piper' | 'vits' | 'kokoro' | 'kitten' | 'matcha';
  readonly name: string;
  readonly model: string;
  readonly voices: readonly Voice[];
  /** Of all of its files. */
  readonly bytes: number;
  readonly tokens?: string;
  readonly dataFolder?: string;
  /** The table of voices of Kokoro and Kitten. */
  readonly voiceTable?: string;
  readonly lexicon?: string;
  /** The second model of Matcha, which makes sound of what the first one draws. */
  readonly vocoder?: string;
}

export interface VoiceModelFiles {
  /** A file or a folder. */
  readonly path: string;
  /** A second file, if configured. */
  readonly second: string;
  /** Where eSpeak may be installed (`espeakFolders`). */
  readonly espeakFolders: readonly string[];
}

/** Supported kinds, for error messages. */
export const possibleVoices =
  'a Piper voice (NAME.onnx with NAME.onnx.json), or the folder of a VITS, Kokoro, Kitten or Matcha model for sherpa-onnx';

/** Files of a model whose kind is not known yet. */
interface Found {
  readonly name: string;
  readonly model: string;
  /** Of the model itself. */
  readonly bytes: number;
  readonly metadata: ReadonlyMap<string, string>;
  readonly folder: string;
  /** All that lies beside it. */
  readonly names: readonly string[];
  readonly second: string;
  readonly espeak: () => Promise<string>;
}

/** Each kind is known by the files that it has and others have not. */
const kinds: readonly ((found: Found) => Promise<VoiceModel> | undefined)[] = [tabled, matcha, piper, vits];

/** Finds out what a voice model is by the files that lie there; its weights are not read. Throws one clear sentence. */
export async function readVoiceModel(files: VoiceModelFiles): Promise<VoiceModel> {
  const found = await look(files);
  for (const kind of kinds) {
    const model = kind(found);
    if (model) return model;
  }
  throw new Error(
    `the files beside it are missing: ${basename(found.model)}.json for a Piper voice, tokens.txt for others`,
  );
}

async function look({ path, second, espeakFolders }: VoiceModelFiles): Promise<Found> {
  const facts = await stat(path);
  if (/\.(gguf|ggml|bin|safetensors|pth?)$/i.test(path) && facts.isFile()) {
    throw new Error(
      `speech models in this format (OuteTTS and the like) are not possible yet. What is: ${possibleVoices}`,
    );
  }
  const folder = facts.isDirectory() ? path : dirname(path);
  const names = await readdir(folder);
  const model = facts.isDirectory() ? modelIn(names, folder) : path;
  if (model === undefined || !/\.onnx$/i.test(model)) {
    throw new Error(`it is no voice that is known: what is possible is ${possibleVoices}`);
  }
  return {
    name: basename(path).replace(/\.onnx$/i, ''),
    model,
    bytes: (await stat(model)).size,
    metadata: await readOnnxMetadata(model),
    folder,
    names,
    second,
    espeak: () => findEspeakData(facts.isDirectory() ? path : model, espeakFolders),
  };
}

/** Kokoro and Kitten: their voices are a table in a file of its own. */
function tabled(found: Found): Promise<VoiceModel> | undefined {
  const [tokens, voiceTable] = [beside(found, 'tokens.txt'), beside(found, 'voices.bin')];
  if (tokens === undefined || voiceTable === undefined) return undefined;
  return (async () => {
    const { name, model, bytes, metadata, folder, names, espeak } = found;
    const kitten = /kitten/i.test(metadata.get('model_type') ?? folder);
    const tableBytes = (await stat(voiceTable)).size;
    const lexicon = kitten ? '' : lexiconsIn(names, folder);
    return {
      kind: kitten ? 'kitten' : 'kokoro',
      name,
      model,
      bytes: bytes + tableBytes,
      voices: kokoroVoices(metadata, tableBytes, name),
      tokens,
      voiceTable,
      dataFolder: await espeak(),
      ...(lexicon === '' ? {} : { lexicon }),
    };
  })();
}

function matcha(found: Found): Promise<VoiceModel> | undefined {
  const tokens = beside(found, 'tokens.txt');
  const { name, model, bytes, metadata, names, folder, second } = found;
  if (tokens === undefined || !isAcoustic(basename(model))) return undefined;
  return (async () => {
    const vocoder = second || vocoderIn(names, folder);
    if (vocoder === undefined) {
      throw new Error(
        'it is a Matcha model, and its vocoder is missing: put it into the folder, or name it with --ttswavtokenizer',
      );
    }
    return {
      kind: 'matcha',
      name,
      model,
      bytes: bytes + (await stat(vocoder)).size,
      voices: numberedVoices(metadata, name),
      tokens,
      vocoder,
      ...(await pronunciation(found)),
    };
  })();
}

function piper({ name, model, bytes, names, espeak }: Found): Promise<VoiceModel> | undefined {
  const config = `${model}.json`;
  if (!names.includes(basename(config))) return undefined;
  return (async () => {
    const voices = piperVoices(await readPiperVoice(config, name), name);
    return { kind: 'piper', name, model, bytes, voices, dataFolder: await espeak() };
  })();
}

function vits(found: Found): Promise<VoiceModel> | undefined {
  const tokens = beside(found, 'tokens.txt');
  const { name, model, bytes, metadata } = found;
  if (tokens === undefined || !metadata.has('sample_rate')) return undefined;
  return (async () => {
    const voices = numberedVoices(metadata, name);
    return { kind: 'vits', name, model, bytes, voices, tokens, ...(await pronunciation(found)) };
  })();
}

/** How words sound: by a list of its own, or else by the tables of eSpeak. */
async function pronunciation(found: Found): Promise<Pick<VoiceModel, 'lexicon' | 'dataFolder'>> {
  const lexicon = beside(found, 'lexicon.txt');
  return lexicon === undefined ? { dataFolder: await found.espeak() } : { lexicon };
}

function beside({ names, folder }: Found, file: string): string | undefined {
  return names.includes(file) ? join(folder, file) : undefined;
}

/** The model of a folder: by its usual names, or else the only one. */
function modelIn(names: readonly string[], folder: string): string | undefined {
  const models = names.filter((name) => /\.onnx$/i.test(name));
  const acoustic = models.find(isAcoustic);
  const usual = ['model.onnx', 'model.int8.onnx', 'model.fp16.onnx'].find((name) => models.includes(name));
  const found = acoustic ?? usual ?? (models.length === 1 ? models[0] : undefined);
  return found === undefined ? undefined : join(folder, found);
}

function isAcoustic(name: string): boolean {
  return /^model-steps.*\.onnx$/i.test(name);
}

function vocoderIn(names: readonly string[], folder: string): string | undefined {
  const found = names.find((name) => /^(vocos|hifigan).*\.onnx$/i.test(name));
  return found === undefined ? undefined : join(folder, found);
}

function lexiconsIn(names: readonly string[], folder: string): string {
  return names
    .filter((name) => /^lexicon.*\.txt$/i.test(name))
    .sort()
    .map((name) => join(folder, name))
    .join(',');
}

/** The tables of Kokoro have no names in them: these are in their order, by how many there are. */
const kokoroTables: ReadonlyMap<number, readonly string[]> = new Map(
  [
    'af af_bella af_nicole af_sarah af_sky am_adam am_michael bf_emma bf_isabella bm_george bm_lewis',
    'af_alloy af_aoede af_bella af_heart af_jessica af_kore af_nicole af_nova af_river af_sarah af_sky am_adam am_echo am_eric am_fenrir am_liam am_michael am_onyx am_puck am_santa bf_alice bf_emma bf_isabella bf_lily bm_daniel bm_fable bm_george bm_lewis ef_dora em_alex ff_siwis hf_alpha hf_beta hm_omega hm_psi if_sara im_nicola jf_alpha jf_gongitsune jf_nezumi jf_tebukuro jm_kumo pf_dora pm_alex pm_santa zf_xiaobei zf_xiaoni zf_xiaoxiao zf_xiaoyi zm_yunjian zm_yunxi zm_yunxia zm_yunyang',
  ].map((names) => {
    const list = names.split(' ');
    return [list.length, list];
  }),
);

/** The first letter of such a name tells the language, the second who speaks. */
const kokoroLanguages: Readonly<Record<string, string>> = {
  a: 'en',
  b: 'en',
  e: 'es',
  f: 'fr',
  h: 'hi',
  i: 'it',
  j: 'ja',
  p: 'pt',
  z: 'zh',
};

/** One voice is a row of style vectors for up to 510 or 511 sounds. */
const rowBytes = [510 * 256 * 4, 511 * 256 * 4];

function kokoroVoices(metadata: ReadonlyMap<string, string>, tableBytes: number, name: string): readonly Voice[] {
  const told = metadata.get('speaker_names')?.split(',').filter(Boolean);
  const row = rowBytes.find((bytes) => tableBytes % bytes === 0);
  const count = Number(metadata.get('n_speakers') ?? (row === undefined ? 1 : tableBytes / row)) || 1;
  const names = told?.length === count ? told : kokoroTables.get(count);
  if (names === undefined) return numberedVoices(metadata, name, count);
  return names.map((voice) => {
    const [, language = '', sound = ''] = /^([a-z])([fm])(?:_|$)/.exec(voice) ?? [];
    return {
      name: voice,
      language: kokoroLanguages[language] ?? 'en',
      description: `${name} ${voice}`,
      ...(sound === '' ? {} : { sound: sound === 'f' ? ('female' as const) : ('male' as const) }),
    };
  });
}

/** Those that have no names are called by their numbers. */
function numberedVoices(
  metadata: ReadonlyMap<string, string>,
  name: string,
  count = Number(metadata.get('n_speakers') ?? 1) || 1,
): readonly Voice[] {
  const language = /chinese|zh/i.test(metadata.get('language') ?? '')
    ? 'zh'
    : (metadata.get('language') ?? 'en').slice(0, 2).toLowerCase();
  return Array.from({ length: count }, (_, id) => ({
    name: count === 1 ? name : `${name}-${id}`,
    language,
    description: `voice ${id + 1} of ${name}`,
  }));
}
