import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { concat } from '../../../audio/resample.ts';
import { AppError } from '../../../core/errors.ts';
import { widenModel } from '../../onnx/model-file.ts';
import { OnnxSession } from '../../onnx/session.ts';
import type { KokoroOptions } from '../host.ts';
import { normalizedText } from '../normalization/normalize.ts';
import { ignoredNotes, type Sound, type Synthesiser } from '../speak.ts';
import { kokoroParts, partName } from './pack.ts';
import { openEspeak, phonemesOf, type SpokenLanguage, splitPhonemes, tokensOf } from './phonemes.ts';
import { kokoroVoices, readBlend, StyleTables, spokenLanguage, styleLength } from './voices.ts';

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

  const synthesize: Synthesiser['synthesize'] = async (text, { voice, speed }, watch, signal): Promise<Sound> => {
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
    normalized: (text, { voice }) => normalizedFor(spokenLanguage(readBlend(voice)), text),
    ignored: (request) => ignoredNotes(request, spokenLanguage(readBlend(request.voice)).slice(0, 2)),
    synthesize,
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

function pauseAfter(phonemes: string): number {
  if (/[.!?…][\s"”)]*$/.test(phonemes)) return pauses.sentence;
  return /[;:,—][\s"”)]*$/.test(phonemes) ? pauses.clause : pauses.none;
}

/** Windows of this length are loud or silent. */
const windowSeconds = 0.005;
/** Root mean square; speech is at 0.03 and more, breath at 0.003. */
const silentBelow = 0.0025;
/** Kept before the first and after the last loud window, because sounds begin and end softly. */
const margin = { before: 0.04, behind: 0.06 } as const;
/** At both ends, so that pieces join without a click. */
const fadeSeconds = 0.004;

/**
 * Replaces the silence at both ends of a piece of speech, which is up to half a second, by a pause of this length after it.
 * A piece without sound becomes the pause.
 */
export function withPause(samples: Float32Array, rate: number, pauseSeconds: number): Float32Array {
  const { start, end } = loudPart(samples, rate);
  const speech = samples.slice(start, end);
  const fade = Math.min(Math.floor(fadeSeconds * rate), Math.floor(speech.length / 2));
  for (let index = 0; index < fade; index++) {
    const last = speech.length - 1 - index;
    speech[index] = (speech[index] as number) * (index / fade);
    speech[last] = (speech[last] as number) * (index / fade);
  }
  const paused = new Float32Array(speech.length + Math.round(pauseSeconds * rate));
  paused.set(speech);
  return paused;
}

function loudPart(samples: Float32Array, rate: number): { readonly start: number; readonly end: number } {
  const window = Math.max(1, Math.round(windowSeconds * rate));
  const isLoud = (at: number): boolean => {
    let sum = 0;
    const end = Math.min(samples.length, at + window);
    for (let index = at; index < end; index++) sum += (samples[index] as number) ** 2;
    return sum / (end - at) > silentBelow ** 2;
  };
  let first = 0;
  while (first < samples.length && !isLoud(first)) first += window;
  if (first >= samples.length) return { start: 0, end: 0 };
  let last = Math.floor((samples.length - 1) / window) * window;
  while (!isLoud(last)) last -= window;
  return {
    start: Math.max(0, first - Math.round(margin.before * rate)),
    end: Math.min(samples.length, last + window + Math.round(margin.behind * rate)),
  };
}

/** Letters that eSpeak reads in these languages; of others it only tells the name of the script. Greek ones occur in formulas. */
const latin = /[\p{Script=Latin}\p{Script=Greek}\p{M}]/u;
const devanagari = /[\p{Script=Devanagari}\p{Script=Latin}\p{Script=Greek}\p{M}]/u;

/** A text as a voice of this language reads it. Letters of other scripts are left out, with a note; a text of nothing else is refused. */
export function normalizedFor(
  language: SpokenLanguage,
  sent: string,
): { readonly text: string; readonly notes: readonly string[] } {
  const known = language === 'hi' ? devanagari : latin;
  let lost = 0;
  const legible = sent.replace(/\p{L}/gu, (letter) => {
    if (known.test(letter)) return letter;
    lost += 1;
    return ' ';
  });
  if (lost > 0 && !/[\p{L}\p{N}]/u.test(legible)) {
    const instead = 'this voice does not know its script; name a voice for its language with --ttsmodel';
    const details = { feature: 'Speaking this text', instead, field: 'input' };
    throw new AppError('unsupported', details);
  }
  const text = normalizedText(legible, language === 'en-us' || language === 'en-gb' ? language : 'other');
  return {
    text,
    notes: lost === 0 ? [] : [`${lost} characters are not spoken: the voice does not know their script.`],
  };
}
