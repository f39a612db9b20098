import { checkVersion, versionKey } from '../core/file-version.ts';
import { inSlices, type Sliced } from '../core/slices.ts';
import { AtomicFile, type AtomicFileOptions } from './atomic-file.ts';

interface SavedStory {
  readonly title: string;
  /** Encoding of the data, which only the client reads. */
  readonly format: string;
  readonly data: string;
}

export const slotCount = 12;
/** Of one story. */
const maxCharacters = 10 * 2 ** 20;
/** Twice the size of full slots without escapes. */
const maxBytes = 256 * 2 ** 20;

export class StoryTooLong extends Error {}

/** Stored as JSON, which is written and sent unchanged. */
interface Slot {
  readonly title: string;
  readonly json: Buffer;
}

/** By key. Entries of other programs under other keys are preserved. */
type Slots = ReadonlyMap<string, Slot>;

export interface SaveSlotsOptions extends Pick<AtomicFileOptions<Slots>, 'path' | 'warn' | 'now'> {
  readonly parse: (bytes: Buffer) => Promise<Readonly<Record<string, unknown>>>;
  readonly limits?: { readonly characters: number; readonly bytes: number };
}

/** Stories of clients in a file that KoboldCpp reads and writes too: an object of slots by number. */
export class SaveSlots {
  readonly #file: AtomicFile<Slots>;
  readonly #maxCharacters: number;

  constructor({ parse, limits = { characters: maxCharacters, bytes: maxBytes }, ...options }: SaveSlotsOptions) {
    this.#maxCharacters = limits.characters;
    this.#file = new AtomicFile<Slots>({
      ...options,
      maxBytes: limits.bytes,
      empty: new Map(),
      decode: async (bytes) => inSlices(decoded(await parse(bytes))),
      encode: encoded,
    });
  }

  /** One per slot, empty for a free slot. */
  async titles(): Promise<readonly string[]> {
    const slots = await this.#file.read();
    return Array.from({ length: slotCount }, (_, slot) => slots.get(String(slot))?.title ?? '');
  }

  /** The story as JSON; undefined for a free slot. */
  async load(slot: number): Promise<Uint8Array | undefined> {
    const slots = await this.#file.read();
    return isSlot(slot) ? slots.get(String(slot))?.json : undefined;
  }

  /** Throws `StoryTooLong`, `FileFull`, and errors of the file system. */
  async save(slot: number, story: SavedStory): Promise<void> {
    const { title, format, data } = story;
    if (!isSlot(slot)) throw new RangeError(`There is no slot ${slot}.`);
    if (title.length + format.length + data.length > this.#maxCharacters) throw new StoryTooLong();
    const saved = await inSlices(slotOf(story));
    await this.#file.change((slots) => new Map(slots).set(String(slot), saved));
  }

  async erase(slot: number): Promise<void> {
    await this.#file.change((slots) => new Map([...slots].filter(([key]) => key !== String(slot))));
  }
}

export function isSlot(slot: number): boolean {
  return Number.isInteger(slot) && slot >= 0 && slot < slotCount;
}

function* slotOf({ title, format, data }: SavedStory): Sliced<Slot> {
  const head = `{"title":${JSON.stringify(title)},"format":${JSON.stringify(format)},"data":`;
  const chunks = yield* jsonBytes(data);
  return { title, json: Buffer.concat([Buffer.from(head), ...chunks, Buffer.from('}')]) };
}

function* decoded(file: Readonly<Record<string, unknown>>): Sliced<Slots> {
  checkVersion(file);
  const slots = new Map<string, Slot>();
  for (const [key, value] of Object.entries(file)) {
    yield;
    // Null is an erased slot of another program.
    if (value === null || key === versionKey) continue;
    if (isSlot(Number(key)) && key === String(Number(key))) slots.set(key, yield* slotOf(storyIn(value, key)));
    else slots.set(key, { title: '', json: Buffer.from(JSON.stringify(value)) });
  }
  return slots;
}

function storyIn(value: unknown, key: string): SavedStory {
  const text = (name: string): string => {
    const member = (value as Record<string, unknown>)[name] ?? '';
    if (typeof member === 'string') return member;
    throw new Error(`${name} of slot ${key} is no text`);
  };
  if (typeof value !== 'object' || Array.isArray(value)) throw new Error(`slot ${key} holds no story`);
  return { title: text('title'), format: text('format'), data: text('data') };
}

function encoded(slots: Slots): readonly Buffer[] {
  const entries = [...slots].flatMap(([key, { json }]) => [Buffer.from(`,\n${JSON.stringify(key)}:`), json]);
  return [Buffer.from(`{"${versionKey}":1`), ...entries, Buffer.from('}\n')];
}

/** Takes some ten microseconds. */
const sliceLength = 16_384;

/** `JSON.stringify` of a text in slices: ten million characters take a third of a second. */
export function* jsonBytes(text: string): Sliced<readonly Buffer[]> {
  const chunks = [Buffer.from('"')];
  for (let start = 0; start < text.length; ) {
    const end = sliceEnd(text, start);
    chunks.push(Buffer.from(JSON.stringify(text.slice(start, end)).slice(1, -1)));
    start = end;
    yield;
  }
  chunks.push(Buffer.from('"'));
  return chunks;
}

/** Does not split a surrogate pair, whose halves would be written as escapes. */
function sliceEnd(text: string, start: number): number {
  const end = start + sliceLength;
  if (end >= text.length) return text.length;
  const last = text.charCodeAt(end - 1);
  return last >= 0xd800 && last <= 0xdbff ? end - 1 : end;
}
