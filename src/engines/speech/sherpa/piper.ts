import { readFile } from 'node:fs/promises';
import type { Voice } from '../../../core/speech.ts';

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

function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
