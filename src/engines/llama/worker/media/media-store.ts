import { isChunk, type ReadMedium } from './medium.ts';

/** What was read stays, the newest first, as long as it fits: a picture is sent again with every turn of its chat. */
export class MediaStore {
  readonly #entries = new Map<string, { readonly medium: ReadMedium; readonly bytes: number }>();
  #bytes = 0;

  constructor(private readonly limitBytes: number) {}

  get(key: string): ReadMedium | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.medium;
  }

  put(key: string, medium: ReadMedium): void {
    this.#drop(key);
    const bytes = sizeOf(medium);
    this.#entries.set(key, { medium, bytes });
    this.#bytes += bytes;
    // A map keeps the order of insertion: the first key is the one that was not used for the longest time.
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.limitBytes) break;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    this.#bytes -= this.#entries.get(key)?.bytes ?? 0;
    this.#entries.delete(key);
  }
}

function sizeOf({ parts }: ReadMedium): number {
  return parts.reduce((sum, part) => sum + (isChunk(part) ? part.embeddings.byteLength : part.byteLength), 0);
}
