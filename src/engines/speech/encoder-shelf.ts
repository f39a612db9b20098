import { type AudioEncoder, type EncodeOptions, openEncoder } from '../../audio/encode.ts';
import type { SpeechFormat } from '../../core/speech.ts';

export type OpenEncoder = (format: SpeechFormat, options: EncodeOptions) => Promise<AudioEncoder>;

/** One for each format that takes a while to open. */
const mostSpares = 3;

/**
 * To open an encoder may take as long as to say half a sentence. So one of each kind that was needed lies ready, opened when
 * nobody waited for it.
 */
export class EncoderShelf {
  /** Those that were put there last stand last. */
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
    // Whoever takes it is told why it could not be opened.
    encoder.catch(() => undefined);
    this.#spares.set(kind, encoder);
    const [oldest] = this.#spares;
    if (this.#spares.size <= mostSpares || !oldest) return;
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
