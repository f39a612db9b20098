import { AppError } from '../core/errors.ts';
import type { SpeechEvent, SpeechFormat } from '../core/speech.ts';
import type { Headers, Reply } from '../http/call.ts';
import { headerList } from './dialect.ts';

const contentTypes: Readonly<Record<SpeechFormat, string>> = {
  wav: 'audio/wav',
  mp3: 'audio/mpeg',
  opus: 'audio/ogg',
  flac: 'audio/flac',
  pcm: 'audio/pcm',
};

/** Opus comes in a container that has its own ending. */
const endings: Readonly<Record<SpeechFormat, string>> = {
  wav: 'wav',
  mp3: 'mp3',
  opus: 'ogg',
  flac: 'flac',
  pcm: 'pcm',
};

export type SoundEvent = Exclude<SpeechEvent, { type: 'start' }>;

/** Speech that has begun: what can go wrong before the first sound has not gone wrong. */
export interface BegunSpeech {
  readonly notes: readonly string[];
  /** All of the sound, and the end. */
  readonly events: AsyncIterable<SoundEvent>;
}

/** Waits for the first sound, so that a refusal keeps its status. */
export async function begunSpeech(events: AsyncIterable<SpeechEvent>): Promise<BegunSpeech> {
  const iterator = events[Symbol.asyncIterator]();
  let notes: readonly string[] = [];
  for (;;) {
    const step = await iterator.next();
    if (step.done) throw new AppError('stopped', {});
    if (step.value.type !== 'start') return { notes, events: resumed(step.value, iterator) };
    notes = step.value.notes;
  }
}

async function* resumed(first: SoundEvent, iterator: AsyncIterator<SpeechEvent>): AsyncGenerator<SoundEvent> {
  try {
    yield first;
    for (let step = await iterator.next(); !step.done; step = await iterator.next()) {
      if (step.value.type !== 'start') yield step.value;
    }
  } finally {
    await iterator.return?.();
  }
}

export interface SoundFile {
  readonly format: SpeechFormat;
  /** Without its ending. */
  readonly name: string;
  readonly headers?: Headers;
}

/** The file as it is made. */
export function streamedSound({ notes, events }: BegunSpeech, file: SoundFile): Reply {
  return { status: 200, headers: soundHeaders(file, notes), stream: soundOf(events) };
}

/** The whole file, for clients that want to know its length first. */
export async function wholeSound({ notes, events }: BegunSpeech, file: SoundFile): Promise<Reply> {
  return { status: 200, headers: soundHeaders(file, notes), body: await allSound(events) };
}

export async function allSound(events: AsyncIterable<SoundEvent>): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of soundOf(events)) pieces.push(piece);
  return Buffer.concat(pieces);
}

async function* soundOf(events: AsyncIterable<SoundEvent>): AsyncGenerator<Uint8Array> {
  for await (const event of events) if (event.type === 'audio') yield event.bytes;
}

function soundHeaders({ format, name, headers = {} }: SoundFile, notes: readonly string[]): Headers {
  return {
    'content-type': contentTypes[format],
    'content-disposition': `attachment; filename="${name}.${endings[format]}"`,
    ...noteHeaders(notes),
    ...headers,
  };
}

/** What could not be done is told in a header, which every client can see and none must. */
export function noteHeaders(notes: readonly string[]): Headers {
  return notes.length > 0 ? { 'x-parley-notes': headerList(notes) } : {};
}
