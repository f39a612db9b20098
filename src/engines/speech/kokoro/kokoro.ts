import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { concat } from '../../../audio/resample.ts';
import { AppError } from '../../../core/errors.ts';
import type { SpeechRequest } from '../../../core/speech.ts';
import { widenModel } from '../../onnx/model-file.ts';
import { OnnxSession } from '../../onnx/session.ts';
import type { KokoroOptions } from '../host.ts';
import type { Sound, Synthesiser } from '../speak.ts';
import { openEspeak } from './espeak.ts';
import { kokoroParts, partName } from './pack.ts';
import { phonemesOf } from './phonemes.ts';
import { readableBy } from './script.ts';
import { withPause } from './silence.ts';
import { StyleTables, styleLength } from './styles.ts';
import { splitPhonemes, tokensOf } from './tokens.ts';
import { kokoroVoices, readBlend, spokenLanguage } from './voices.ts';

const rate = 24_000;
const modelHash = 'ba4527a874b42b21e35f468c10d326fdff3c7fc8cac1f85e9eb6c0dfc35c334a';

/** Watchdog time-out; a sentence takes seconds, more on a slow machine. */
const synthesisTimeoutMs = 300_000;

/** Pauses in seconds, by the last mark of a piece. */
const pauses = { sentence: 0.32, clause: 0.14, none: 0.04 } as const;

/** Kokoro-82M of the pack `voices`, through ONNX Runtime. */
export async function openKokoro({ model, voices, espeak, threads }: KokoroOptions): Promise<Synthesiser> {
  const session = await OnnxSession.open(widenModel(await readParts(model)), { threads });
  const pronounce = await openEspeak(espeak);
  const styles = new StyleTables(voices);

  const say: Synthesiser['say'] = async (text, { voice, speed }, watch, signal): Promise<Sound> => {
    const blend = readBlend(voice);
    const language = spokenLanguage(blend);
    const phonemes = watch.here(synthesisTimeoutMs, () =>
      phonemesOf(text, language, (one) => pronounce(one, language)),
    );
    const pieces: Float32Array[] = [];
    for (const part of splitPhonemes(phonemes)) {
      const tokens = tokensOf(part);
      if (tokens.length === 0) continue;
      const style = { data: await styles.style(blend, tokens.length), shape: [1, styleLength] };
      // The model expects a padding token at both ends.
      const ids = BigInt64Array.from([0, ...tokens, 0], BigInt);
      const inputs = {
        input_ids: { data: ids, shape: [1, ids.length] },
        style,
        speed: { data: Float32Array.of(speed), shape: [1] },
      };
      const { waveform } = await watch.aside(synthesisTimeoutMs, () => session.run(inputs, signal));
      if (!waveform)
        throw new AppError('engine-failed', { capability: 'speech', reason: 'the model gives no waveform' });
      pieces.push(withPause(waveform.data, rate, pauseAfter(part) / speed));
    }
    return { samples: concat(...pieces), rate };
  };

  return {
    voices: kokoroVoices,
    firstPiece: 50,
    readable: (text, { voice }) => readable(text, voice),
    unheeded,
    say,
  };
}

/** The model is shipped in parts. Together they must have the hash of the tested one. */
async function readParts(folder: string): Promise<Uint8Array> {
  const parts = [];
  for (let index = 0; index < kokoroParts; index++) parts.push(await readFile(join(folder, partName(index))));
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  if (hash.digest('hex') !== modelHash) {
    throw new Error('the model of the pack voices is damaged (its SHA-256 differs). Run: parley pack repair voices');
  }
  return Buffer.concat(parts);
}

function readable(sent: string, voice: string): ReturnType<Synthesiser['readable']> {
  return readableBy(spokenLanguage(readBlend(voice)), sent);
}

function unheeded({ language, instruction, voice }: SpeechRequest): readonly string[] {
  const spoken = spokenLanguage(readBlend(voice)).slice(0, 2);
  const other = language !== '' && language !== 'auto' && language.slice(0, 2).toLowerCase() !== spoken;
  return [
    ...(other ? [`The voice ${voice} speaks ${spoken} only.`] : []),
    ...(instruction === '' ? [] : ['This model takes no instructions on how to speak.']),
  ];
}

function pauseAfter(phonemes: string): number {
  if (/[.!?…][\s"”)]*$/.test(phonemes)) return pauses.sentence;
  return /[;:,—][\s"”)]*$/.test(phonemes) ? pauses.clause : pauses.none;
}
