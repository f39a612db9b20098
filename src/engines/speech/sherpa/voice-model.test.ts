import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { onnxMetadata, readOnnxMetadata } from './onnx-metadata.ts';
import { partsOf, piperParts } from './sherpa.ts';
import { tinyOnnx } from './testing/tiny-onnx.ts';
import { espeakFolders, piperMetadata, piperTokens, piperVoice, piperVoices, readVoiceModel } from './voice-model.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'voice-test-'));
});
afterEach(() => rm(folder, { recursive: true }));

const onnx = (metadata: Readonly<Record<string, string>> = {}): Uint8Array =>
  Buffer.concat([tinyOnnx(), onnxMetadata(new Map(Object.entries(metadata)))]);
const piperConfig = JSON.stringify({
  audio: { sample_rate: 22_050 },
  espeak: { voice: 'en-us' },
  language: { code: 'en_US' },
  phoneme_id_map: { a: [1] },
});

/** Files by their paths below the folder; what ends with a slash is a folder. */
async function lay(files: Readonly<Record<string, string | Uint8Array>>): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), content);
  }
}

const read = (path = '.', second = '', folders: readonly string[] = []) =>
  readVoiceModel({ path: join(folder, path), second, espeakFolders: folders });
const espeak = { 'espeak-ng-data/phontab': 'x' };

describe('readVoiceModel: kinds', () => {
  test('Piper by its file', async () => {
    await lay({ 'lessac.onnx': onnx(), 'lessac.onnx.json': piperConfig, ...espeak });
    expect(await read('lessac.onnx')).toEqual({
      kind: 'piper',
      name: 'lessac',
      model: join(folder, 'lessac.onnx'),
      bytes: onnx().length,
      voices: [{ name: 'lessac', language: 'en', description: 'Piper voice lessac' }],
      dataFolder: join(folder, 'espeak-ng-data'),
    });
  });

  test('Piper by its folder', async () => {
    await lay({ 'voice/one.onnx': onnx(), 'voice/one.onnx.json': piperConfig, ...espeak });
    const found = await read('voice');
    expect(found).toMatchObject({ kind: 'piper', name: 'voice', dataFolder: join(folder, 'espeak-ng-data') });
  });

  test('Kokoro with voice names by their number', async () => {
    await lay({
      'kokoro/model.onnx': onnx({ model_type: 'kokoro', n_speakers: '11' }),
      'kokoro/voices.bin': 'xx',
      'kokoro/tokens.txt': '',
      'kokoro/lexicon-us-en.txt': '',
      'kokoro/lexicon-zh.txt': '',
      'kokoro/espeak-ng-data/phontab': '',
    });
    const found = await read('kokoro');
    expect(found).toMatchObject({ kind: 'kokoro', voiceTable: join(folder, 'kokoro', 'voices.bin') });
    expect(found.voices).toHaveLength(11);
    expect(found.voices[1]).toMatchObject({ name: 'af_bella', language: 'en', sound: 'female' });
    expect(found.voices[5]).toMatchObject({ name: 'am_adam', sound: 'male' });
    expect(found.lexicon?.split(',')).toHaveLength(2);
  });

  test('Kokoro with voice names from the metadata', async () => {
    await lay({
      'model.onnx': onnx({ n_speakers: '2', speaker_names: 'jf_x,zm_y' }),
      'voices.bin': '',
      'tokens.txt': '',
      ...espeak,
    });
    expect((await read()).voices.map(({ name, language, sound }) => [name, language, sound])).toEqual([
      ['jf_x', 'ja', 'female'],
      ['zm_y', 'zh', 'male'],
    ]);
  });

  test('Kokoro by the size of its table', async () => {
    await lay({ 'model.onnx': onnx(), 'voices.bin': new Uint8Array(11 * 511 * 256 * 4), 'tokens.txt': '', ...espeak });
    expect((await read()).voices[4]?.name).toBe('af_sky');
  });

  test('Kitten', async () => {
    await lay({
      'k/model.fp16.onnx': onnx({ model_type: 'kitten-tts', n_speakers: '8' }),
      'k/voices.bin': '',
      'k/tokens.txt': '',
      ...espeak,
    });
    const found = await read('k');
    expect(found.kind).toBe('kitten');
    expect(found.voices.map(({ name }) => name)).toEqual(Array.from({ length: 8 }, (_, id) => `k-${id}`));
  });

  test('Matcha with a vocoder in the folder', async () => {
    await lay({ 'm/model-steps-3.onnx': onnx(), 'm/vocos-22khz-univ.onnx': onnx(), 'm/tokens.txt': '', ...espeak });
    expect(await read('m')).toMatchObject({ kind: 'matcha', vocoder: join(folder, 'm', 'vocos-22khz-univ.onnx') });
  });

  test('Matcha with a vocoder from a flag', async () => {
    await lay({ 'm/model-steps-3.onnx': onnx(), 'other.onnx': onnx(), 'm/tokens.txt': '', ...espeak });
    expect(await read('m', join(folder, 'other.onnx'))).toMatchObject({ vocoder: join(folder, 'other.onnx') });
  });

  test('VITS with a lexicon does not need eSpeak', async () => {
    await lay({ 'vits.onnx': onnx({ sample_rate: '22050' }), 'tokens.txt': '', 'lexicon.txt': '' });
    const found = await read('vits.onnx');
    expect(found).toMatchObject({ kind: 'vits', lexicon: join(folder, 'lexicon.txt') });
    expect(found.dataFolder).toBeUndefined();
  });
});

describe('readVoiceModel: errors', () => {
  test('GGUF', async () => {
    await lay({ 'oute.gguf': 'GGUF' });
    await expect(read('oute.gguf')).rejects.toThrow(
      /not possible yet. What is: a Piper voice .* Kokoro, Kitten or Matcha/,
    );
  });

  test('folder without a model', async () => {
    await lay({ 'empty/readme.txt': '' });
    await expect(read('empty')).rejects.toThrow(/no voice that is known/);
  });

  test('folder with several models', async () => {
    await lay({ 'a.onnx': onnx(), 'b.onnx': onnx() });
    await expect(read()).rejects.toThrow(/no voice that is known/);
  });

  test('model without other files', async () => {
    await lay({ 'v.onnx': onnx() });
    await expect(read('v.onnx')).rejects.toThrow(/v.onnx.json for a Piper voice, tokens.txt for others/);
  });

  test('model without eSpeak data', async () => {
    await lay({ 'v.onnx': onnx(), 'v.onnx.json': piperConfig });
    await expect(read('v.onnx')).rejects.toThrow(/espeak-ng-data.*beside the model.*ESPEAK_DATA_PATH/);
  });

  test('Matcha without a vocoder', async () => {
    await lay({ 'model-steps-3.onnx': onnx(), 'tokens.txt': '', ...espeak });
    await expect(read()).rejects.toThrow(/vocoder is missing.*--ttswavtokenizer/);
  });

  test('file that is not ONNX', async () => {
    await lay({ 'v.onnx': 'hello, this is a text', 'v.onnx.json': piperConfig });
    await expect(read('v.onnx')).rejects.toThrow(/no ONNX file/);
  });

  test('invalid configuration file', async () => {
    await lay({ 'v.onnx': onnx(), 'v.onnx.json': '{', ...espeak });
    await expect(read('v.onnx')).rejects.toThrow();
  });

  test('missing path', async () => {
    await expect(read('none.onnx')).rejects.toThrow(/none.onnx/);
  });
});

describe('findEspeakData', () => {
  const voice = { 'a/v/m.onnx': onnx(), 'a/v/m.onnx.json': piperConfig };
  const installed = { 'e/phontab': '' };
  const found = async (path = 'a/v/m.onnx') => (await read(path, '', [join(folder, 'e')])).dataFolder;

  test.each([
    ['in the folder of the model', 'a/v'],
    ['beside that folder', 'a'],
  ])('%s before installed folders', async (_, place) => {
    await lay({ ...voice, ...installed, [`${place}/espeak-ng-data/phontab`]: '' });
    expect(await found()).toBe(join(folder, place, 'espeak-ng-data'));
    expect(await found('a/v')).toBe(join(folder, place, 'espeak-ng-data'));
  });

  test('installed folders', async () => {
    await lay({ ...voice, ...installed });
    expect(await found()).toBe(join(folder, 'e'));
  });

  test('ESPEAK_DATA_PATH first, which may name the folder or its parent', () => {
    const folders = espeakFolders('linux', { ESPEAK_DATA_PATH: '/e' });
    expect(folders.slice(0, 2)).toEqual(['/e', '/e/espeak-ng-data']);
    expect(folders).toContain('/usr/share/espeak-ng-data');
  });

  test('program folder of Windows', () => {
    expect(espeakFolders('win32', { ProgramFiles: 'P' })).toEqual([join('P', 'eSpeak NG', 'espeak-ng-data')]);
  });
});

describe('piperParts', () => {
  test('adds missing metadata to a copy', async () => {
    const own = onnx();
    await lay({ 'v.onnx': own, 'v.onnx.json': piperConfig, ...espeak, 'copy/.keep': '' });
    const parts = await piperParts(await read('v.onnx'), join(folder, 'copy'));
    expect(parts.model).toBe(join(folder, 'copy', 'model.onnx'));
    expect((await readOnnxMetadata(parts.model)).get('sample_rate')).toBe('22050');
    expect(await readFile(parts.tokens, 'utf8')).toBe('a 1\n');
    expect((await readFile(join(folder, 'v.onnx'))).equals(own)).toBe(true);
    expect((await readFile(parts.model)).subarray(0, own.length).equals(own)).toBe(true);
  });

  test('uses the model itself if nothing is missing', async () => {
    await lay({ 'v.onnx': onnx({ sample_rate: '16000' }), 'v.onnx.json': piperConfig, ...espeak, 'copy/.keep': '' });
    const parts = await piperParts(await read('v.onnx'), join(folder, 'copy'));
    expect(parts.model).toBe(join(folder, 'v.onnx'));
  });
});

describe('partsOf: names of the library', () => {
  const base = { name: 'n', model: '/m', voices: [], bytes: 1, tokens: '/t', dataFolder: '/d' } as const;
  test.each([
    [{ ...base, kind: 'vits' } as const, { vits: { model: '/m', tokens: '/t', dataDir: '/d' } }],
    [
      { ...base, kind: 'kokoro', voiceTable: '/v', lexicon: '/l' } as const,
      { kokoro: { model: '/m', voices: '/v', tokens: '/t', dataDir: '/d', lexicon: '/l' } },
    ],
    [
      { ...base, kind: 'kitten', voiceTable: '/v' } as const,
      { kitten: { model: '/m', voices: '/v', tokens: '/t', dataDir: '/d' } },
    ],
    [
      { ...base, kind: 'matcha', vocoder: '/w' } as const,
      { matcha: { acousticModel: '/m', vocoder: '/w', tokens: '/t', dataDir: '/d' } },
    ],
  ])('$kind', (model, parts) => {
    expect(partsOf(model)).toEqual(parts);
  });
});

const config = (own: object = {}): object => ({
  audio: { sample_rate: 22_050, quality: 'medium' },
  espeak: { voice: 'en-us' },
  language: { code: 'en_US' },
  phoneme_type: 'espeak',
  phoneme_id_map: { _: [0], '^': [1], ' ': [3], a: [14], '\n': [9], ɐ: 50 },
  ...own,
});

describe('piperVoice', () => {
  test('piperMetadata has what sherpa-onnx needs', () => {
    expect(Object.fromEntries(piperMetadata(piperVoice(config(), 'lessac')))).toEqual({
      model_type: 'vits',
      comment: 'piper',
      language: 'en',
      voice: 'en-us',
      has_espeak: '1',
      n_speakers: '1',
      sample_rate: '22050',
    });
  });

  test('piperTokens has one symbol per line, also the space', () => {
    expect(piperTokens(piperVoice(config(), 'lessac'))).toBe('_ 0\n^ 1\n  3\na 14\nɐ 50\n');
  });

  test('a single speaker has the name of the voice', () => {
    expect(piperVoices(piperVoice(config(), 'lessac'), 'lessac')).toEqual([
      { name: 'lessac', language: 'en', description: 'Piper voice lessac' },
    ]);
  });

  test('several speakers are in the order of their ids', () => {
    const many = piperVoice(config({ num_speakers: 3, speaker_id_map: { p2: 2, p0: 0 } }), 'vctk');
    expect(many.speakers).toEqual(['p0', 'vctk-1', 'p2']);
    expect(piperMetadata(many).get('n_speakers')).toBe('3');
  });

  test.each([
    [{ language: { code: 'de_DE' } }, 'de'],
    [{ language: undefined }, 'en'],
    [{ language: { code: 'PT-br' } }, 'pt'],
  ])('language of %j', (own, language) => {
    expect(piperVoice(config(own), 'v').language).toBe(language);
  });

  test('the phoneme type may be missing', () => {
    expect(piperVoice(config({ phoneme_type: undefined }), 'v').espeakVoice).toBe('en-us');
  });
});

describe('piperVoice: invalid configurations', () => {
  test.each([
    ['nothing', null, /not that of a Piper voice/],
    ['a list', [], /not that of a Piper voice/],
    ['no rate', config({ audio: {} }), /not that of a Piper voice/],
    ['no symbols', config({ phoneme_id_map: {} }), /not that of a Piper voice/],
    ['symbols without numbers', config({ phoneme_id_map: { a: ['x'] } }), /not that of a Piper voice/],
    ['phonemes of another kind', config({ phoneme_type: 'text' }), /phonemes of eSpeak/],
    ['no voice of eSpeak', config({ espeak: {} }), /phonemes of eSpeak/],
  ])('%s', (_, value, reason) => {
    expect(() => piperVoice(value, 'v')).toThrow(reason);
  });
});
