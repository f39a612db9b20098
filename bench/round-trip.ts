import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findVoicesPack } from '../src/engines/speech/kokoro/pack.ts';
import type { BenchOptions } from './options.ts';
import type { Row } from './report.ts';
import { type ServerProcess, startServer } from './server-process.ts';
import { hardSentences, plainSentences, type SpokenSentence } from './spoken-sentences.ts';
import { heardWords, wordErrors } from './word-errors.ts';

interface Recording {
  readonly sentence: SpokenSentence;
  readonly wav: Uint8Array;
}

const kinds = { plain: plainSentences, hard: hardSentences } as const;
type Kind = keyof typeof kinds;

/**
 * Sentences spoken by each voice engine of the server and written down by each of its recognisers, over HTTP: the share of words
 * that come back wrong. Each `--ear` holds the flags of one recogniser; without one, the default recogniser listens.
 */
export async function roundTripBench({ server, quick, ears, sounds, log }: BenchOptions): Promise<Row[]> {
  const rows: Row[] = [];
  for (const voice of ['flite', ...(hasVoicesPack() ? ['kokoro'] : [])]) {
    const recordings = await spokenBy(server, { voice, quick, sounds, log });
    for (const ear of ears.length > 0 ? ears : ['']) {
      rows.push(...(await heardBy(server, ear, { voice, recordings, log })));
    }
  }
  return rows;
}

function hasVoicesPack(): boolean {
  try {
    findVoicesPack();
    return true;
  } catch {
    return false;
  }
}

interface Speaking extends Pick<BenchOptions, 'quick' | 'sounds' | 'log'> {
  readonly voice: string;
}

async function spokenBy(
  server: string,
  { voice, quick, sounds, log }: Speaking,
): Promise<Readonly<Record<Kind, readonly Recording[]>>> {
  let running: Promise<ServerProcess> | undefined;
  const speak = async (sentence: SpokenSentence): Promise<Recording> => {
    const file = sounds && join(sounds, `${voice}-${createHash('sha256').update(sentence.text).digest('hex')}.wav`);
    if (file && existsSync(file)) return { sentence, wav: readFileSync(file) };
    running ??= startServer(server, { flags: ['--nomodel', '--ttsmodel', voice] });
    const wav = await speechOf((await running).port, sentence.text);
    if (file) {
      mkdirSync(sounds, { recursive: true });
      writeFileSync(file, wav);
    }
    return { sentence, wav };
  };
  try {
    const all = async (kind: Kind): Promise<readonly Recording[]> => {
      const recordings: Recording[] = [];
      for (const sentence of kinds[kind].slice(0, quick ? 5 : undefined)) recordings.push(await speak(sentence));
      log(`${voice} spoke ${recordings.length} ${kind} sentences`);
      return recordings;
    };
    return { plain: await all('plain'), hard: await all('hard') };
  } finally {
    await (await running)?.stop();
  }
}

interface Listening extends Pick<BenchOptions, 'log'> {
  readonly voice: string;
  readonly recordings: Readonly<Record<Kind, readonly Recording[]>>;
}

async function heardBy(server: string, ear: string, { voice, recordings, log }: Listening): Promise<Row[]> {
  const running = await startServer(server, { flags: ['--nomodel', ...ear.split(' ').filter(Boolean)] });
  try {
    const name = await recogniserName(running.port);
    const rows: Row[] = [];
    for (const kind of ['plain', 'hard'] as const) {
      let [words, errors, exact] = [0, 0, 0];
      for (const { sentence, wav } of recordings[kind]) {
        const reference = heardWords(sentence.heard ?? sentence.text);
        const text = await transcribed(running.port, wav);
        const wrong = wordErrors(reference, heardWords(text));
        if (wrong > 0) log(`${voice}, ${name}: ${JSON.stringify(sentence.text)} heard as ${JSON.stringify(text)}`);
        words += reference.length;
        errors += wrong;
        exact += wrong === 0 ? 1 : 0;
      }
      const what = `${voice} heard by ${name}: words that are wrong, ${kind} sentences (${exact} of ${recordings[kind].length} to the word)`;
      const goal = kind === 'plain' && voice === 'kokoro' && /whisper.*base/i.test(name) ? { goal: { atMost: 5 } } : {};
      rows.push({ bench: 'roundtrip', what, value: (100 * errors) / words, unit: '%', ...goal });
    }
    return rows;
  } finally {
    await running.stop();
  }
}

async function speechOf(port: number, input: string): Promise<Uint8Array> {
  const body = JSON.stringify({ input, response_format: 'wav' });
  const reply = await fetch(`http://127.0.0.1:${port}/v1/audio/speech`, { method: 'POST', body });
  if (!reply.ok) throw new Error(`the server answered ${reply.status}: ${await reply.text()}`);
  return new Uint8Array(await reply.arrayBuffer());
}

async function transcribed(port: number, wav: Uint8Array): Promise<string> {
  const form = new FormData();
  form.append('file', new Blob([new Uint8Array(wav)]), 'sentence.wav');
  form.append('language', 'en');
  const reply = await fetch(`http://127.0.0.1:${port}/v1/audio/transcriptions`, { method: 'POST', body: form });
  const { text } = (await reply.json()) as { text?: string };
  if (text === undefined) throw new Error(`the server answered ${reply.status}`);
  return text;
}

/** As the server calls it. */
async function recogniserName(port: number): Promise<string> {
  const reply = await fetch(`http://127.0.0.1:${port}/v1/audio/models`);
  const { models } = (await reply.json()) as { models: readonly { readonly id: string }[] };
  return models.at(-1)?.id ?? 'the recogniser';
}
