import { constants } from 'node:fs';
import { appendFile, copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SpeechRequest, Voice } from '../../../core/speech.ts';
import type { SherpaOptions } from '../host.ts';
import type { Synthesiser } from '../speak.ts';
import { onnxMetadata, readOnnxMetadata } from './onnx-metadata.ts';
import { piperMetadata, piperTokens, readPiperVoice } from './piper.ts';
import type { VoiceModel } from './voice-model.ts';

/** What of the library is used. */
interface Library {
  readonly OfflineTts: {
    createAsync(config: object): Promise<Speaker>;
  };
}

interface Speaker {
  readonly numSpeakers: number;
  readonly sampleRate: number;
  generateAsync(request: object): Promise<{ readonly samples: Float32Array; readonly sampleRate: number }>;
}

/** A sentence takes seconds on a slow machine; this is far beyond what any may take. */
const longestSayingMs = 300_000;

/** Between two sentences; the library makes none at the end of a text. */
const pauseSeconds = 0.2;

/** Voices for ONNX, through sherpa-onnx. */
export async function openSherpa({ model, threads }: SherpaOptions): Promise<Synthesiser> {
  const { OfflineTts } = createRequire(import.meta.url)('sherpa-onnx-node') as Library;
  const speaker = await inPreparedForm(model, (parts) =>
    OfflineTts.createAsync({
      model: { ...parts, numThreads: threads, debug: false, provider: 'cpu' },
      maxNumSentences: 1,
    }),
  );
  const voices = existing(model.voices, speaker.numSpeakers);
  return {
    voices,
    readable: (text) => ({ text, notes: [] }),
    unheeded: (request) => unheeded(request, voices),
    say: async (text, { voice, speed }, watch) => {
      const sid = Math.max(
        0,
        voices.findIndex(({ name }) => name === voice),
      );
      const { samples, sampleRate: rate } = await watch.aside(longestSayingMs, () =>
        speaker.generateAsync({ text, sid, speed, enableExternalBuffer: false }),
      );
      const paused = new Float32Array(samples.length + Math.round((pauseSeconds / speed) * rate));
      paused.set(samples);
      return { samples: paused, rate };
    },
  };
}

/** The model may have other voices than its files declare. */
function existing(voices: readonly Voice[], count: number): readonly Voice[] {
  if (count <= 0) return voices.slice(0, 1);
  return voices.slice(0, count);
}

function unheeded({ instruction, language, voice }: SpeechRequest, voices: readonly Voice[]): readonly string[] {
  const spoken = voices.find(({ name }) => name === voice)?.language ?? '';
  const other =
    language !== '' && language !== 'auto' && spoken !== '' && language.slice(0, 2).toLowerCase() !== spoken;
  return [
    ...(other ? [`The voice ${voice} speaks ${spoken} only.`] : []),
    ...(instruction === '' ? [] : ['This model takes no instructions on how to speak.']),
  ];
}

/**
 * The parts by the names of the library. A Piper voice is not as the library wants it: a copy gets what is missing, and is
 * gone as soon as it is loaded.
 */
async function inPreparedForm<Loaded>(
  voice: VoiceModel,
  load: (parts: Readonly<Record<string, object>>) => Promise<Loaded>,
): Promise<Loaded> {
  if (voice.kind !== 'piper') return load(partsOf(voice));
  const folder = await mkdtemp(join(tmpdir(), 'parley-voice-'));
  try {
    return await load({ vits: { ...(await piperParts(voice, folder)), dataDir: voice.dataFolder } });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export async function piperParts(
  { model, name }: VoiceModel,
  folder: string,
): Promise<{ model: string; tokens: string }> {
  const piper = await readPiperVoice(`${model}.json`, name);
  const tokens = join(folder, 'tokens.txt');
  await writeFile(tokens, piperTokens(piper));
  if ((await readOnnxMetadata(model)).has('sample_rate')) return { model, tokens };
  const copy = join(folder, 'model.onnx');
  await copyFile(model, copy, constants.COPYFILE_FICLONE);
  await appendFile(copy, onnxMetadata(piperMetadata(piper)));
  return { model: copy, tokens };
}

export function partsOf({
  kind,
  model,
  tokens,
  dataFolder,
  voiceTable,
  lexicon,
  vocoder,
}: VoiceModel): Readonly<Record<string, object>> {
  const common = {
    ...(tokens === undefined ? {} : { tokens }),
    ...(dataFolder === undefined ? {} : { dataDir: dataFolder }),
    ...(lexicon === undefined ? {} : { lexicon }),
  };
  switch (kind) {
    case 'kokoro':
      return { kokoro: { model, voices: voiceTable, ...common } };
    case 'kitten':
      return { kitten: { model, voices: voiceTable, ...common } };
    case 'matcha':
      return { matcha: { acousticModel: model, vocoder, ...common } };
    default:
      return { vits: { model, ...common } };
  }
}
