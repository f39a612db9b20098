import type { ModelFile } from './model-entry.ts';

/** So long the facts of a file are believed: lists are asked for often, and files are replaced seldom. */
const freshMs = 30_000;

export interface FileFactsParts {
  readonly read: (path: string) => Promise<ModelFile>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** What the files of models say of themselves, read once for many lists; undefined for one that cannot be read. */
export class FileFacts {
  readonly #known = new Map<string, { readonly at: number; readonly facts: Promise<ModelFile | undefined> }>();

  constructor(private readonly parts: FileFactsParts) {}

  of(path: string): Promise<ModelFile | undefined> {
    const now = this.parts.now();
    for (const [old, { at }] of this.#known) if (now - at >= freshMs) this.#known.delete(old);
    const known = this.#known.get(path);
    if (known) return known.facts;
    const facts = this.parts.read(path).catch(() => undefined);
    this.#known.set(path, { at: now, facts });
    return facts;
  }
}
