import { inSlices, type Sliced } from '../core/slices.ts';
import { AtomicFile, type AtomicFileOptions } from './atomic-file.ts';

export interface SavedStory {
  readonly title: string;
  /** How the client packed the data; nobody here looks inside. */
  readonly format: string;
  readonly data: string;
}

export const slotCount = 12;
/** Of all texts of one story together. */
const mostCharacters = 10 * 2 ** 20;
/** All slots full of stories that need no escapes, twice. */
const mostBytes = 256 * 2 ** 20;

export class StoryTooLong extends Error {}

/** Kept as it stands in the file: it is written again with every change, and sent as it is. */
interface Slot {
  readonly title: string;
  readonly json: Buffer;
}

/** By their keys in the file. What other programs keep there under other keys stays as it is. */
type Slots = ReadonlyMap<string, Slot>;

export interface SaveSlotsParts extends Pick<AtomicFileOptions<Slots>, 'path' | 'warn' | 'now'> {
  readonly parse: (bytes: Buffer) => Promise<Readonly<Record<string, unknown>>>;
  readonly limits?: { readonly characters: number; readonly bytes: number };
}

/** Stories of clients in one file that KoboldCpp reads and writes too: an object of slots by their numbers. */
export class SaveSlots {
  readonly #file: AtomicFile<Slots>;
  readonly #mostCharacters: number;

  constructor({ parse, limits = { characters: mostCharacters, bytes: mostBytes }, ...parts }: SaveSlotsParts) {
    this.#mostCharacters = limits.characters;
    this.#file = new AtomicFile<Slots>({
      ...parts,
      mostBytes: limits.bytes,
      empty: new Map(),
      decode: async (bytes) => inSlices(decoded(await parse(bytes))),
      encode: encoded,
    });
  }

  /** One for each slot, empty where it is free. */
  async titles(): Promise<readonly string[]> {
    const slots = await this.#file.read();
    return Array.from({ length: slotCount }, (_, slot) => slots.get(String(slot))?.title ?? '');
  }

  /** The story as JSON; undefined where the slot is free. */
  async load(slot: number): Promise<Uint8Array | undefined> {
    const slots = await this.#file.read();
    return isSlot(slot) ? slots.get(String(slot))?.json : undefined;
  }

  /** Throws where it is too long, where the file would be full (`FileFull`), and what the disk throws. */
  async save(slot: number, story: SavedStory): Promise<void> {
    const { title, format, data } = story;
    if (!isSlot(slot)) throw new RangeError(`There is no slot ${slot}.`);
    if (title.length + format.length + data.length > this.#mostCharacters) throw new StoryTooLong();
    const kept = await inSlices(slotOf(story));
    await this.#file.change((slots) => new Map(slots).set(String(slot), kept));
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
  const slots = new Map<string, Slot>();
  for (const [key, value] of Object.entries(file)) {
    yield;
    // Other programs write that for a slot that was erased.
    if (value === null) continue;
    if (isSlot(Number(key)) && key === String(Number(key))) slots.set(key, yield* slotOf(storyIn(value, key)));
    else slots.set(key, { title: '', json: Buffer.from(JSON.stringify(value)) });
  }
  return slots;
}

function storyIn(value: unknown, key: string): SavedStory {
  const text = (name: string): string => {
    const found = (value as Record<string, unknown>)[name] ?? '';
    if (typeof found === 'string') return found;
    throw new Error(`${name} of slot ${key} is no text`);
  };
  if (typeof value !== 'object' || Array.isArray(value)) throw new Error(`slot ${key} holds no story`);
  return { title: text('title'), format: text('format'), data: text('data') };
}

function encoded(slots: Slots): readonly Buffer[] {
  const entries = [...slots].flatMap(([key, { json }], index) => [
    Buffer.from(`${index > 0 ? ',\n' : ''}${JSON.stringify(key)}:`),
    json,
  ]);
  return [Buffer.from('{'), ...entries, Buffer.from('}\n')];
}

/** Some ten microseconds of work each. */
const sliceLength = 16_384;

/** A text as JSON, as `JSON.stringify` would write it, but in slices: for ten million characters that takes a third of a second. */
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

/** Both halves of a character stay together: alone each of them would be written as an escape. */
function sliceEnd(text: string, start: number): number {
  const end = start + sliceLength;
  if (end >= text.length) return text.length;
  const last = text.charCodeAt(end - 1);
  return last >= 0xd800 && last <= 0xdbff ? end - 1 : end;
}
