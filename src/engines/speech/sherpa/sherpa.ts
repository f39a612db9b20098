import { constants } from 'node:fs';
import { appendFile, copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SherpaOptions } from '../host.ts';
import { ignoredNotes, type Synthesiser } from '../speak.ts';
import { onnxMetadata, readOnnxMetadata } from './onnx-metadata.ts';
import { piperMetadata, piperTokens, readPiperVoice, type VoiceModel } from './voice-model.ts';

/** The used part of the library, which has no types. */
interface Library {
  readonly OfflineTts: { createAsync(config: object): Promise<Speaker> };
}

interface Speaker {
  readonly numSpeakers: number;
  generateAsync(request: object): Promise<{ readonly samples: Float32Array; readonly sampleRate: number }>;
}

/** Watchdog time-out; a sentence takes seconds on a slow machine. */
const synthesisTimeoutMs = 300_000;

/** Pause after a sentence; the library adds none. */
const pauseSeconds = 0.2;

/** Voices for ONNX, through sherpa-onnx. */
export async function openSherpa({ model, threads }: SherpaOptions): Promise<Synthesiser> {
  const { OfflineTts } = createRequire(import.meta.url)('sherpa-onnx-node') as Library;
  const speaker = await loadParts(model, (parts) =>
    OfflineTts.createAsync({
      model: { ...parts, numThreads: threads, debug: false, provider: 'cpu' },
      maxNumSentences: 1,
    }),
  );
  // The model may have fewer voices than its files declare.
  const voices = model.voices.slice(0, Math.max(1, speaker.numSpeakers));
  return {
    voices,
    normalized: (text) => ({ text, notes: [] }),
    ignored: (request) => ignoredNotes(request, voices.find(({ name }) => name === request.voice)?.language),
    synthesize: async (text, { voice, speed }, watch) => {
      const index = voices.findIndex(({ name }) => name === voice);
      const sid = Math.max(0, index);
      const { samples, sampleRate: rate } = await watch.aside(synthesisTimeoutMs, () =>
        speaker.generateAsync({ text, sid, speed, enableExternalBuffer: false }),
      );
      const paused = new Float32Array(samples.length + Math.round((pauseSeconds / speed) * rate));
      paused.set(samples);
      return { samples: paused, rate };
    },
  };
}

/** Loads the files by their names in the library. A Piper voice is loaded from a temporary copy with added metadata. */
async function loadParts(voice: VoiceModel, load: (parts: object) => Promise<Speaker>): Promise<Speaker> {
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

export function partsOf({ kind, model, tokens, dataFolder, voiceTable, lexicon, vocoder }: VoiceModel): object {
  const common = {
    ...(tokens && { tokens }),
    ...(dataFolder && { dataDir: dataFolder }),
    ...(lexicon && { lexicon }),
  };
  if (kind === 'matcha') return { matcha: { acousticModel: model, vocoder, ...common } };
  if (kind === 'kokoro' || kind === 'kitten') return { [kind]: { model, voices: voiceTable, ...common } };
  return { vits: { model, ...common } };
}
