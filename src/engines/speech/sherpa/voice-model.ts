import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isObject } from '../../../core/json.ts';
import type { Voice } from '../../../core/speech.ts';
import { readOnnxMetadata } from './onnx-metadata.ts';

/** A voice model: its kind and its files. */
export interface VoiceModel {
  readonly kind: 'piper' | 'vits' | 'kokoro' | 'kitten' | 'matcha';
  readonly name: string;
  readonly model: string;
  readonly voices: readonly Voice[];
  /** Size of all files. */
  readonly bytes: number;
  readonly tokens?: string;
  readonly dataFolder?: string;
  /** Voices of Kokoro and Kitten. */
  readonly voiceTable?: string;
  readonly lexicon?: string;
  /** Of Matcha: converts the spectrogram of the first model to samples. */
  readonly vocoder?: string;
}

interface VoiceModelFiles {
  /** A file or a folder. */
  readonly path: string;
  /** A second file, if configured. */
  readonly second: string;
  /** Where eSpeak may be installed (`espeakFolders`). */
  readonly espeakFolders: readonly string[];
}

/** Supported kinds, for error messages. */
const possibleVoices =
  'a Piper voice (NAME.onnx with NAME.onnx.json), or the folder of a VITS, Kokoro, Kitten or Matcha model for sherpa-onnx';

/** Detects the kind of a voice model by the files in its folder; the weights are not read. */
export async function readVoiceModel(files: VoiceModelFiles): Promise<VoiceModel> {
  const detected = await look(files);
  const [tokens, voiceTable] = [beside(detected, 'tokens.txt'), beside(detected, 'voices.bin')];
  if (tokens && voiceTable) return tabled(detected, tokens, voiceTable);
  if (tokens && isAcoustic(basename(detected.model))) return matcha(detected, tokens);
  if (beside(detected, `${basename(detected.model)}.json`)) return piper(detected);
  if (tokens && detected.metadata.has('sample_rate')) return vits(detected, tokens);
  throw new Error(
    `the files beside it are missing: ${basename(detected.model)}.json for a Piper voice, tokens.txt for others`,
  );
}

/** Files of a model whose kind is not known yet. */
type DetectedFiles = Awaited<ReturnType<typeof look>>;

async function look({ path, second, espeakFolders }: VoiceModelFiles) {
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
    /** All files of the folder. */
    names,
    second,
    espeak: () => findEspeakData(facts.isDirectory() ? path : model, espeakFolders),
  };
}

/** Kokoro and Kitten have their voices in a table. */
async function tabled(detected: DetectedFiles, tokens: string, voiceTable: string): Promise<VoiceModel> {
  const { name, model, metadata, folder, names } = detected;
  const kitten = /kitten/i.test(metadata.get('model_type') ?? folder);
  const tableBytes = (await stat(voiceTable)).size;
  const lexicon = kitten ? '' : lexiconsIn(names, folder);
  return {
    kind: kitten ? 'kitten' : 'kokoro',
    name,
    model,
    bytes: detected.bytes + tableBytes,
    voices: kokoroVoices(metadata, tableBytes, name),
    tokens,
    voiceTable,
    dataFolder: await detected.espeak(),
    ...(lexicon === '' ? {} : { lexicon }),
  };
}

async function matcha(detected: DetectedFiles, tokens: string): Promise<VoiceModel> {
  const { name, model, metadata } = detected;
  const listed = detected.names.find((file) => /^(vocos|hifigan).*\.onnx$/i.test(file));
  const vocoder = detected.second || (listed && join(detected.folder, listed));
  if (vocoder === undefined) {
    throw new Error(
      'it is a Matcha model, and its vocoder is missing: put it into the folder, or name it with --ttswavtokenizer',
    );
  }
  const bytes = detected.bytes + (await stat(vocoder)).size;
  const voices = numberedVoices(metadata, name);
  return { kind: 'matcha', name, model, bytes, voices, tokens, vocoder, ...(await pronunciation(detected)) };
}

async function piper({ name, model, bytes, espeak }: DetectedFiles): Promise<VoiceModel> {
  const voices = piperVoices(await readPiperVoice(`${model}.json`, name), name);
  return { kind: 'piper', name, model, bytes, voices, dataFolder: await espeak() };
}

async function vits(detected: DetectedFiles, tokens: string): Promise<VoiceModel> {
  const { name, model, bytes, metadata } = detected;
  const voices = numberedVoices(metadata, name);
  return { kind: 'vits', name, model, bytes, voices, tokens, ...(await pronunciation(detected)) };
}

/** A lexicon, or the data of eSpeak. */
async function pronunciation(detected: DetectedFiles): Promise<Pick<VoiceModel, 'lexicon' | 'dataFolder'>> {
  const lexicon = beside(detected, 'lexicon.txt');
  return lexicon === undefined ? { dataFolder: await detected.espeak() } : { lexicon };
}

function beside({ names, folder }: DetectedFiles, file: string): string | undefined {
  return names.includes(file) ? join(folder, file) : undefined;
}

/** The model of a folder: by its usual name, or the only one. */
function modelIn(names: readonly string[], folder: string): string | undefined {
  const models = names.filter((name) => /\.onnx$/i.test(name));
  const acoustic = models.find(isAcoustic);
  const usual = ['model.onnx', 'model.int8.onnx', 'model.fp16.onnx'].find((name) => models.includes(name));
  const model = acoustic ?? usual ?? (models.length === 1 ? models[0] : undefined);
  return model === undefined ? undefined : join(folder, model);
}

function isAcoustic(name: string): boolean {
  return /^model-steps.*\.onnx$/i.test(name);
}

function lexiconsIn(names: readonly string[], folder: string): string {
  return names
    .filter((name) => /^lexicon.*\.txt$/i.test(name))
    .sort()
    .map((name) => join(folder, name))
    .join(',');
}

/** Names of the voices in the tables of Kokoro, which have none, by the number of voices. */
const kokoroTables: ReadonlyMap<number, readonly string[]> = new Map(
  [
    'af af_bella af_nicole af_sarah af_sky am_adam am_michael bf_emma bf_isabella bm_george bm_lewis',
    'af_alloy af_aoede af_bella af_heart af_jessica af_kore af_nicole af_nova af_river af_sarah af_sky am_adam am_echo am_eric am_fenrir am_liam am_michael am_onyx am_puck am_santa bf_alice bf_emma bf_isabella bf_lily bm_daniel bm_fable bm_george bm_lewis ef_dora em_alex ff_siwis hf_alpha hf_beta hm_omega hm_psi if_sara im_nicola jf_alpha jf_gongitsune jf_nezumi jf_tebukuro jm_kumo pf_dora pm_alex pm_santa zf_xiaobei zf_xiaoni zf_xiaoxiao zf_xiaoyi zm_yunjian zm_yunxi zm_yunxia zm_yunyang',
  ].map((names) => [names.split(' ').length, names.split(' ')]),
);

/** First letter of a name; the second one is the sex. */
const kokoroLanguages: Readonly<Record<string, string>> = Object.fromEntries(
  'a:en b:en e:es f:fr h:hi i:it j:ja p:pt z:zh'.split(' ').map((pair) => pair.split(':')),
);

/** A voice has style vectors for up to 510 or 511 phonemes. */
const rowBytes = [510 * 256 * 4, 511 * 256 * 4];

function kokoroVoices(metadata: ReadonlyMap<string, string>, tableBytes: number, name: string): readonly Voice[] {
  const declared = metadata.get('speaker_names')?.split(',').filter(Boolean);
  const row = rowBytes.find((bytes) => tableBytes % bytes === 0);
  const count = Number(metadata.get('n_speakers') ?? (row === undefined ? 1 : tableBytes / row)) || 1;
  const names = declared?.length === count ? declared : kokoroTables.get(count);
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

/** Voices without names. */
function numberedVoices(
  metadata: ReadonlyMap<string, string>,
  name: string,
  count = Number(metadata.get('n_speakers') ?? 1) || 1,
): readonly Voice[] {
  const declared = metadata.get('language') ?? 'en';
  const language = /chinese|zh/i.test(declared) ? 'zh' : declared.slice(0, 2).toLowerCase();
  return Array.from({ length: count }, (_, id) => ({
    name: count === 1 ? name : `${name}-${id}`,
    language,
    description: `voice ${id + 1} of ${name}`,
  }));
}

type PiperVoice = ReturnType<typeof piperVoice>;

/** Reads the configuration of a Piper voice (`.onnx.json`). */
export async function readPiperVoice(path: string, name: string): Promise<PiperVoice> {
  return piperVoice(JSON.parse(await readFile(path, 'utf8')), name);
}

export function piperVoice(value: unknown, name: string) {
  const config = asObject(value);
  const sampleRate = Number(asObject(config.audio).sample_rate);
  const espeakVoice = String(asObject(config.espeak).voice ?? '');
  const phonemes = Object.entries(asObject(config.phoneme_id_map)).flatMap(([symbol, ids]): [string, number][] => {
    const id = Number(Array.isArray(ids) ? ids[0] : ids);
    return Number.isInteger(id) ? [[symbol, id]] : [];
  });
  if (!(sampleRate > 0) || phonemes.length === 0) {
    throw new Error('the file beside it (.onnx.json) is not that of a Piper voice');
  }
  if ((config.phoneme_type ?? 'espeak') !== 'espeak' || espeakVoice === '') {
    throw new Error('it is a Piper voice that does not work on phonemes of eSpeak, which is not possible here');
  }
  const code = String(asObject(config.language).code ?? espeakVoice);
  return {
    sampleRate,
    espeakVoice,
    language: code.slice(0, 2).toLowerCase(),
    speakers: speakersOf(config, name),
    phonemes: new Map(phonemes),
  };
}

/** Names by speaker id; the id if there is no name. */
function speakersOf(config: Readonly<Record<string, unknown>>, name: string): readonly string[] {
  const count = Math.max(1, Math.trunc(Number(config.num_speakers ?? 1)) || 1);
  if (count === 1) return [name];
  const names = new Map(Object.entries(asObject(config.speaker_id_map)).map(([speaker, id]) => [Number(id), speaker]));
  return Array.from({ length: count }, (_, id) => names.get(id) ?? `${name}-${id}`);
}

/** Metadata that sherpa-onnx expects in the model. */
export function piperMetadata({ sampleRate, espeakVoice, language, speakers }: PiperVoice) {
  return new Map([
    ['model_type', 'vits'],
    ['comment', 'piper'],
    ['language', language],
    ['voice', espeakVoice],
    ['has_espeak', '1'],
    ['n_speakers', String(speakers.length)],
    ['sample_rate', String(sampleRate)],
  ]);
}

/** A symbol and its id per line; line breaks cannot be represented. */
export function piperTokens({ phonemes }: PiperVoice): string {
  return [...phonemes]
    .filter(([symbol]) => !/[\r\n]/.test(symbol))
    .map(([symbol, id]) => `${symbol} ${id}\n`)
    .join('');
}

export function piperVoices({ speakers, language }: PiperVoice, name: string): readonly Voice[] {
  return speakers.map((speaker) => ({ name: speaker, language, description: `Piper voice ${name}` }));
}

const asObject = (value: unknown): Readonly<Record<string, unknown>> => (isObject(value) ? value : {});

const folder = 'espeak-ng-data';
const libraries = ['/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu', '/usr/lib64'];
const unixFolders = ['/usr/share', '/usr/local/share', ...libraries, '/opt/homebrew/share'];

/** Folders in which the data of eSpeak may be: named by the environment variable, or installed. */
export function espeakFolders(
  platform: string,
  environment: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  const named = environment.ESPEAK_DATA_PATH;
  return [
    ...(named ? [named, join(named, folder)] : []),
    ...(platform === 'win32'
      ? [join(environment.ProgramFiles ?? 'C:\\Program Files', 'eSpeak NG', folder)]
      : unixFolders.map((parent) => join(parent, folder))),
  ];
}

/** Data of eSpeak, which most voices need for pronunciation: beside the model, or in one of these folders. */
async function findEspeakData(model: string, folders: readonly string[]): Promise<string> {
  const beside = [model, dirname(model), dirname(dirname(model))].map((parent) => join(parent, folder));
  for (const parent of [...beside, ...folders]) {
    const stats = await stat(join(parent, 'phontab')).catch(() => undefined);
    if (stats?.isFile()) return parent;
  }
  throw new Error(
    `it needs the folder ${folder}, which says how words sound. Put that folder beside the model, or install espeak-ng (its package has it), or name it with the variable ESPEAK_DATA_PATH`,
  );
}
