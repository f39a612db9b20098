import { AppError } from '../core/errors.ts';
import type { SpeechEvent, SpeechFormat, SpeechRequest } from '../core/speech.ts';
import type { Call, Headers, Reply } from '../http/call.ts';
import { listHeader } from './dialect.ts';
import { requestContextOf } from './request-context.ts';
import { type SpokenFields, speechOf, spokenText } from './spoken-text.ts';

const fileTypes: Readonly<Record<SpeechFormat, { readonly type: string; readonly extension?: string }>> = {
  wav: { type: 'audio/wav' },
  mp3: { type: 'audio/mpeg' },
  opus: { type: 'audio/ogg', extension: 'ogg' },
  flac: { type: 'audio/flac' },
  pcm: { type: 'audio/pcm' },
};

export type SoundEvent = Exclude<SpeechEvent, { type: 'start' }>;

interface BegunSpeech {
  /** About what cannot be done. */
  readonly notes: readonly string[];
  readonly events: AsyncIterable<SoundEvent>;
}

type SpeechShape = Pick<SpeechRequest, 'speed' | 'format' | 'streamed'>;

/** Speaks the text of a request. Resolves with its first sound. */
export async function speak(
  call: Call,
  fields: SpokenFields,
  context: Parameters<typeof speechOf>[0],
  shape: SpeechShape,
): Promise<BegunSpeech & { readonly text: string }> {
  const service = speechOf(context);
  const { spoken, notes } = await spokenText(fields, service);
  const request: SpeechRequest = { ...spoken, ...shape };
  call.watch?.decoded?.(request);
  const begun = await startedSpeech(service.speak(request, requestContextOf(call, fields.genkey ?? '')));
  return { ...begun, notes: [...notes, ...begun.notes], text: request.text };
}

/** Waits for the first sound, so that an error before it keeps its status. */
export async function startedSpeech(events: AsyncIterable<SpeechEvent>): Promise<BegunSpeech> {
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

interface SoundFile {
  readonly format: SpeechFormat;
  /** Without its extension. */
  readonly name: string;
  readonly headers?: Headers;
}

export function streamedSound({ notes, events }: BegunSpeech, file: SoundFile): Reply {
  return { status: 200, headers: soundHeaders(file, notes), stream: soundOf(events) };
}

/** For clients that need the length first. */
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
  const { type, extension = format } = fileTypes[format];
  return {
    'content-type': type,
    'content-disposition': `attachment; filename="${name}.${extension}"`,
    ...noteHeaders(notes),
    ...headers,
  };
}

export function noteHeaders(notes: readonly string[]): Headers {
  return listHeader('x-parley-notes', notes);
}
