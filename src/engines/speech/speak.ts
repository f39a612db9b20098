import { type AudioEncoder, type EncodeOptions, openEncoder } from '../../audio/encode.ts';
import type { SpeechEvent, SpeechFormat, SpeechRequest, Voice } from '../../core/speech.ts';
import type { TaskTools } from '../host/task-worker.ts';
import { sentencesOf, shortStart } from './sentences.ts';

/** In characters. Longer sentences are split, so that the first audio comes soon and an abort takes effect soon. */
const maxSentenceLength = 240;

/** Output for a text without anything to speak, such as dots. */
const silence = { rate: 24_000, seconds: 0.2 } as const;

/** Synthesises a text sentence by sentence and sends each one as soon as it is ready. */
export async function speak(
  { synthesiser, encoders }: { readonly synthesiser: Synthesiser; readonly encoders: EncoderCache },
  request: SpeechRequest,
  { emit, drained, signal, watch }: TaskTools<SpeechEvent>,
): Promise<void> {
  const { text, notes } = synthesiser.normalized(request.text, request);
  emit({ type: 'start', notes: [...notes, ...synthesiser.ignored(request)] });
  const { format, streamed } = request;
  let encoder: AudioEncoder | undefined;
  let usedRate: number | undefined;
  let seconds = 0;
  const send = (bytes: Uint8Array): void => {
    if (bytes.length > 0) emit({ type: 'audio', bytes });
  };
  try {
    for (const sentence of piecesOf(text, synthesiser)) {
      if (signal.aborted) return;
      if (!/[\p{L}\p{N}\p{S}]/u.test(sentence)) continue;
      const { samples, rate } = await synthesiser.synthesize(sentence, request, watch, signal);
      encoder ??= await encoders.take(format, { rate, streamed });
      usedRate = rate;
      seconds += samples.length / rate;
      // In parts, so that the first bytes are sent before all of it is encoded.
      for (let at = 0; at < samples.length; at += rate) send(encoder.encode(samples.subarray(at, at + rate)));
      // Lets an abort message in.
      await new Promise<void>((resolve) => setImmediate(resolve));
      await drained();
    }
    if (signal.aborted) return;
    if (!encoder) {
      encoder = await encoders.take(format, { rate: silence.rate, streamed });
      seconds = silence.seconds;
      send(encoder.encode(new Float32Array(silence.rate * silence.seconds)));
    }
    send(encoder.finish());
    emit({ type: 'finish', seconds });
  } finally {
    encoder?.close();
    if (usedRate !== undefined) encoders.restock(format, { rate: usedRate, streamed });
  }
}

/** The sentences of a text; the first one is short for an engine that takes long. */
export function piecesOf(text: string, { firstPiece }: Pick<Synthesiser, 'firstPiece'> = {}): readonly string[] {
  const sentences = sentencesOf(text, maxSentenceLength);
  return firstPiece === undefined ? sentences : shortStart(sentences, firstPiece);
}

export type OpenEncoder = (format: SpeechFormat, options: EncodeOptions) => Promise<AudioEncoder>;

/** One for each format that is slow to open. */
const maxSpareEncoders = 3;

/** Opening an encoder may take as long as half a sentence. After use, one of the same kind is opened for the next request. */
export class EncoderCache {
  /** In order of insertion. */
  readonly #spares = new Map<string, Promise<AudioEncoder>>();

  constructor(private readonly open: OpenEncoder = openEncoder) {}

  take(format: SpeechFormat, options: EncodeOptions): Promise<AudioEncoder> {
    const kind = kindOf(format, options);
    const spare = this.#spares.get(kind);
    this.#spares.delete(kind);
    return spare ?? this.open(format, options);
  }

  restock(format: SpeechFormat, options: EncodeOptions): void {
    const kind = kindOf(format, options);
    if (format === 'wav' || format === 'pcm' || this.#spares.has(kind)) return;
    const encoder = this.open(format, options);
    // The error is reported to the request that takes it.
    encoder.catch(() => undefined);
    this.#spares.set(kind, encoder);
    const [oldest] = this.#spares;
    if (this.#spares.size <= maxSpareEncoders || !oldest) return;
    this.#spares.delete(oldest[0]);
    oldest[1].then(
      (unused) => unused.close(),
      () => undefined,
    );
  }
}

function kindOf(format: SpeechFormat, { rate, streamed }: EncodeOptions): string {
  return `${format} ${rate} ${streamed}`;
}

export interface Sound {
  /** Mono, from -1 to 1. */
  readonly samples: Float32Array;
  /** Samples per second. */
  readonly rate: number;
}

/** Synthesises sentences; implemented by each speech engine. */
export interface Synthesiser {
  readonly voices: readonly Voice[];
  /** In characters: the first piece of a text is cut after a comma to be about this short, because the engine takes long. */
  readonly firstPiece?: number;
  /** The text in readable form, and notes about what is dropped. Throws if nothing is left. */
  normalized(text: string, manner: Manner): { readonly text: string; readonly notes: readonly string[] };
  /** Notes about ignored fields of the request. */
  ignored(request: SpeechRequest): readonly string[];
  /** May stop in the middle when the signal is aborted. */
  synthesize(sentence: string, manner: Manner, watch: TaskTools<never>['watch'], signal?: AbortSignal): Promise<Sound>;
}

/** Notes for a voice that speaks one language (two letters, if known) and takes no instructions. */
export function ignoredNotes({ language, instruction, voice }: SpeechRequest, spoken = ''): readonly string[] {
  const isOther = !['', 'auto', spoken].includes(language) && language.slice(0, 2).toLowerCase() !== spoken;
  return [
    ...(isOther && spoken !== '' ? [`The voice ${voice} speaks ${spoken} only.`] : []),
    ...(instruction === '' ? [] : ['This model takes no instructions on how to speak.']),
  ];
}

export type Manner = Pick<SpeechRequest, 'voice' | 'speed'>;
