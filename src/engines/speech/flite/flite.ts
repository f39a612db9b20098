import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { AppError } from '../../../core/errors.ts';
import type { SpeechRequest } from '../../../core/speech.ts';
import { type FliteOptions, fliteVoices } from '../host.ts';
import { normalizedText } from '../normalization/normalize.ts';
import type { Manner, Sound, Synthesiser } from '../speak.ts';
import { runInMemory } from './memory-system.ts';

const programHash = 'f975276f4f2a6de78613f197533aac2167d181b77020866d142d594bcc2a0e80';

/** Watchdog time-out. A sentence takes a tenth of a second, one of digits some seconds, more on a slow machine. */
const synthesisTimeoutMs = 120_000;

/** The built-in synthesiser Flite: English, small and fast. */
export async function openFlite({ path }: FliteOptions): Promise<Synthesiser> {
  const bytes = await readFile(path);
  if (createHash('sha256').update(bytes).digest('hex') !== programHash) {
    throw new Error(`${path} is not the file that belongs here. Install Parley again.`);
  }
  const program = await WebAssembly.compile(bytes);
  return {
    voices: fliteVoices,
    normalized,
    ignored,
    synthesize: async (sentence, manner, watch) =>
      watch.here(synthesisTimeoutMs, () => runFlite(program, sentence, manner)),
  };
}

function normalized(sent: string): ReturnType<Synthesiser['normalized']> {
  const { text, lost } = plainText(normalizedText(sent, 'en-us'));
  if (lost === 0) return { text, notes: [] };
  if (!/[a-z0-9]/i.test(text)) {
    const instead = 'the built-in voices read English in Latin letters; name a voice for its language with --ttsmodel';
    const details = { feature: 'Speaking this text', instead, field: 'input' };
    throw new AppError('unsupported', details);
  }
  return { text, notes: [`${lost} characters are not spoken: the built-in voices read Latin letters only.`] };
}

function ignored({ language, instruction }: SpeechRequest): readonly string[] {
  return [
    ...(language !== '' && !/^(en|auto)\b/i.test(language) ? ['The built-in voices read everything as English.'] : []),
    ...(instruction === '' ? [] : ['The built-in voices take no instructions on how to speak.']),
  ];
}

function runFlite(program: WebAssembly.Module, sentence: string, { voice, speed }: Manner): Sound {
  // Flite would silently use another voice.
  if (!fliteVoices.some(({ name }) => name === voice)) throw failed(`there is no voice ${voice}`);
  const { code, files, complaints } = runInMemory(
    program,
    ['flite', '-voice', voice, '--setf', `duration_stretch=${1 / speed}`, '-f', 'text', '-o', 'sound'],
    new Map([['text', Buffer.from(sentence, 'latin1')]]),
  );
  const file = files.get('sound');
  if (code !== 0 || !file || file.length < headBytes) {
    throw failed(complaints.trim().split('\n').at(-1) || `Flite ended with ${code}`);
  }
  return soundOf(file);
}

function failed(reason: string): AppError {
  return new AppError('engine-failed', { capability: 'speech', reason });
}

const headBytes = 44;

/** Flite always writes 16-bit mono WAV with a header of 44 bytes. */
function soundOf(file: Uint8Array): Sound {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const samples = new Float32Array((file.length - headBytes) >> 1);
  for (let index = 0; index < samples.length; index++) {
    samples[index] = view.getInt16(headBytes + 2 * index, true) / 32_768;
  }
  return { samples, rate: view.getUint32(24, true) };
}

/** Letters and punctuation that Unicode decomposition does not reduce to ASCII. */
const plainForms: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    'ß:ss æ:ae Æ:AE œ:oe Œ:OE ø:o Ø:O ł:l Ł:L đ:d ð:d þ:th'.split(' ').map((pair) => pair.split(':')),
  ),
  '\u2018': "'",
  '\u2019': "'",
  '\u201c': '"',
  '\u201d': '"',
  '\u2013': ' - ',
  '\u2014': ' - ',
  '\u2026': '...',
  '\u20ac': ' euros ',
  '\u00a3': ' pounds ',
  '\u00b0': ' degrees ',
  '\u00d7': ' times ',
  '\u3002': '. ',
};

/** Reduces text to ASCII: removes diacritics, and drops letters that are not Latin. `lost` counts dropped letters and digits. */
export function plainText(text: string) {
  let lost = 0;
  const plain = text
    .replace(/[^\0-\x7f]/gu, (character) => plainForms[character] ?? character)
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[^\0-\x7f]/gu, (character) => {
      const form = plainForms[character];
      if (form === undefined && /[\p{L}\p{N}]/u.test(character)) lost += 1;
      return form ?? ' ';
    })
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they would end what the program reads
    .replace(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/g, ' ');
  return { text: plain, lost };
}
