import { AppError } from '../core/errors.ts';
import { hasMembers } from '../core/json.ts';
import {
  type Embed,
  type Memory,
  type MemoryLibrary,
  type MemoryQuery,
  maxMemoryCharacters,
  type NewMemory,
} from '../core/memories.ts';
import { unit } from '../core/vectors.ts';
import { AtomicFile, type AtomicFileOptions, FileFull, versionedList } from './atomic-file.ts';

export interface MemoryStoreOptions extends Pick<AtomicFileOptions<readonly Memory[]>, 'path' | 'warn' | 'now'> {
  readonly newId: () => string;
  readonly limits?: { readonly memories: number; readonly bytes: number };
}

/** Memories are sentences: a scan over all of them takes a few milliseconds. */
const defaultLimits = { memories: 5000, bytes: 8 * 2 ** 20 };
/** Cosine below which a memory has nothing to do with the text: with the built-in model unrelated sentences have 0 to 0.2. */
const minSimilarity = 0.25;
const maxPinned = 50;
/** Bounds how long one search takes after a start, when no vector is known. */
const maxVectorsAtOnce = 200;

/** The memories of one library, in one file. */
export class MemoryStore implements MemoryLibrary {
  readonly #file: AtomicFile<readonly Memory[]>;
  readonly #options: MemoryStoreOptions;
  readonly #limits: typeof defaultLimits;
  /** By text, of the model that was used last. */
  #vectors: { readonly model: string; readonly of: Map<string, Float32Array> } = { model: '', of: new Map() };

  constructor(options: MemoryStoreOptions) {
    const { path, warn, now, limits = defaultLimits } = options;
    this.#options = options;
    this.#limits = limits;
    this.#file = new AtomicFile<readonly Memory[]>({
      path,
      warn,
      now,
      maxBytes: limits.bytes,
      folderMode: 0o700,
      ...versionedList('memories', isMemory, 'it holds no memories'),
    });
  }

  async list(character?: string): Promise<readonly Memory[]> {
    const memories = (await this.#file.read()).filter((memory) => character === undefined || isFor(memory, character));
    return memories.toSorted(rank);
  }

  async add({ text, character, pinned = false }: NewMemory): Promise<Memory> {
    const checked = checkedText(text);
    const own = { text: checked, ...(character !== undefined && { character }) };
    const isSame = (memory: Memory): boolean =>
      memory.character === character && normal(memory.text) === normal(checked);
    const memories = await this.#changed((present) => {
      if (present.some(isSame)) return present;
      if (present.length >= this.#limits.memories) throw this.#full();
      const time = this.#seconds();
      return [...present, { id: this.#options.newId(), ...own, pinned, createdAt: time, changedAt: time }];
    });
    return memories.find(isSame) as Memory;
  }

  async change(id: string, { text, character, pinned }: Parameters<MemoryLibrary['change']>[1]) {
    const checked = text === undefined ? undefined : checkedText(text);
    const memories = await this.#changed((present) =>
      present.map((memory) => {
        if (memory.id !== id) return memory;
        const { character: own, ...rest } = memory;
        const next = character === undefined ? own : (character ?? undefined);
        return {
          ...rest,
          ...(next !== undefined && { character: next }),
          ...(checked !== undefined && { text: checked }),
          pinned: pinned ?? memory.pinned,
          changedAt: this.#seconds(),
        };
      }),
    );
    return memories.find((memory) => memory.id === id);
  }

  async delete(id: string): Promise<boolean> {
    let isDeleted = false;
    await this.#changed((present) => {
      const rest = present.filter((memory) => memory.id !== id);
      isDeleted = rest.length < present.length;
      return isDeleted ? rest : present;
    });
    return isDeleted;
  }

  async find({ text, character, limit }: MemoryQuery, embed?: Embed): Promise<readonly Memory[]> {
    const all = (await this.#file.read()).filter((memory) => isFor(memory, character));
    const pinned = all
      .filter((memory) => memory.pinned)
      .toSorted(rank)
      .slice(0, maxPinned);
    const others = all.filter((memory) => !memory.pinned);
    if (others.length === 0 || text.trim() === '') return pinned;
    const similarity = embed ? await this.#similarity(text, others, embed) : sharedWords(text);
    const near = others
      .map((memory) => ({ memory, score: similarity(memory) }))
      .filter(({ score }) => score >= minSimilarity)
      .toSorted((one, other) => other.score - one.score);
    return [...pinned, ...near.slice(0, limit).map(({ memory }) => memory)];
  }

  /** By meaning; by shared words for those whose vectors are still to be computed by later searches. */
  async #similarity(text: string, memories: readonly Memory[], { model, vectors }: Embed) {
    if (this.#vectors.model !== model) this.#vectors = { model, of: new Map() };
    const known = this.#vectors.of;
    const texts = new Set(memories.map((memory) => memory.text));
    if (known.size > this.#limits.memories) for (const each of known.keys()) if (!texts.has(each)) known.delete(each);
    const unknown = [...texts].filter((each) => !known.has(each)).slice(0, maxVectorsAtOnce);
    const [own = new Float32Array(), ...made] = (await vectors([text, ...unknown])).map(unit);
    for (const [index, each] of unknown.entries()) known.set(each, made[index] ?? new Float32Array());
    const byWords = sharedWords(text);
    return (memory: Memory): number => {
      const vector = known.get(memory.text);
      return vector ? own.reduce((sum, entry, index) => sum + entry * (vector[index] ?? 0), 0) : byWords(memory);
    };
  }

  async #changed(next: (present: readonly Memory[]) => readonly Memory[]): Promise<readonly Memory[]> {
    try {
      return await this.#file.change(next);
    } catch (error) {
      throw error instanceof FileFull ? this.#full() : error;
    }
  }

  #full(): AppError {
    const instead = `${this.#limits.memories} memories are kept at most; delete some first`;
    return new AppError('unsupported', { feature: 'Another memory', instead });
  }

  #seconds(): number {
    return Math.floor(Number(this.#options.now()) / 1000);
  }
}

function isFor(memory: Memory, character: string | undefined): boolean {
  return memory.character === undefined || memory.character === character;
}

function rank(one: Memory, other: Memory): number {
  return Number(other.pinned) - Number(one.pinned) || other.changedAt - one.changedAt || (one.id < other.id ? -1 : 1);
}

function checkedText(text: string): string {
  const trimmed = text.trim();
  if (trimmed === '' || trimmed.length > maxMemoryCharacters) {
    throw new AppError('invalid-field', {
      field: 'text',
      expected: `a text of 1 to ${maxMemoryCharacters} characters`,
    });
  }
  return trimmed;
}

const normal = (text: string): string => text.toLowerCase().replace(/\s+/g, ' ').replace(/[.!]$/, '');

/** The share of the words of a memory that the text has, too. */
function sharedWords(text: string): (memory: Memory) => number {
  const words = new Set(wordsOf(text));
  return (memory) => {
    const own = [...new Set(wordsOf(memory.text))];
    return own.length === 0 ? 0 : own.filter((word) => words.has(word)).length / own.length;
  };
}

/** Short words are mostly of grammar. */
function wordsOf(text: string): readonly string[] {
  return (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).filter((word) => word.length > 3);
}

function isMemory(value: unknown): value is Memory {
  return hasMembers(value, {
    id: 'string',
    text: 'string',
    character: 'string?',
    pinned: 'boolean',
    createdAt: 'integer',
    changedAt: 'integer',
  });
}
