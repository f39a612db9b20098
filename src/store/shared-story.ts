import { checkVersion, versionKey } from '../core/file-version.ts';
import { inSlices } from '../core/slices.ts';
import { AtomicFile, type AtomicFileOptions } from './atomic-file.ts';
import { jsonBytes, StoryTooLong } from './save-slots.ts';

/** A story that several people write, with its version: clients fetch it again when a number has changed. */
export interface StoryTurn {
  readonly story: string;
  readonly format: string;
  readonly major: number;
  readonly minor: number;
}

interface StoryUpdate extends Pick<StoryTurn, 'story' | 'format'> {
  /** A new story rather than a continuation. */
  readonly full: boolean;
}

/** With the story as JSON, which is encoded once. */
interface EncodedTurn extends StoryTurn {
  readonly json: Buffer;
}

const beginning: EncodedTurn = { story: '', format: '', major: 1, minor: 1, json: Buffer.from('""') };
const maxCharacters = 3 * 2 ** 20;
/** With every character escaped. */
const maxBytes = 20 * 2 ** 20;

/** How long a busy report is valid. */
const busyMs = 6000;
const maxSenders = 1000;

export interface SharedStoryOptions extends Pick<AtomicFileOptions<EncodedTurn>, 'path' | 'warn' | 'now'> {
  readonly parse: (bytes: Buffer) => Promise<Readonly<Record<string, unknown>>>;
  /** Monotonic milliseconds. */
  readonly clock: () => number;
  readonly limits?: { readonly characters: number; readonly senders: number };
}

export class SharedStory {
  readonly #file: AtomicFile<EncodedTurn>;
  readonly #clock: () => number;
  readonly #limits: { readonly characters: number; readonly senders: number };
  /** Time of the last busy report by sender, latest last. */
  readonly #senders = new Map<string, number>();

  constructor({ parse, clock, limits, ...options }: SharedStoryOptions) {
    this.#clock = clock;
    this.#limits = limits ?? { characters: maxCharacters, senders: maxSenders };
    this.#file = new AtomicFile<EncodedTurn>({
      ...options,
      maxBytes,
      empty: beginning,
      decode: async (bytes) => {
        const content = await parse(bytes);
        checkVersion(content);
        const turn = turnIn(content);
        return { ...turn, json: await storyJson(turn.story) };
      },
      encode: ({ format, major, minor, json }) => {
        const head = JSON.stringify({ [versionKey]: 1, format, major, minor }).slice(0, -1);
        return [Buffer.from(`${head},"story":`), json, Buffer.from('}\n')];
      },
    });
  }

  turn(): Promise<StoryTurn> {
    return this.#file.read();
  }

  /** Resolves when the turn is on the disk: otherwise a crash could assign its number twice. */
  async update({ story, format, full }: StoryUpdate): Promise<StoryTurn> {
    if (story.length + format.length > this.#limits.characters) throw new StoryTooLong();
    const json = await storyJson(story);
    return this.#file.change(({ major, minor }) => ({
      story,
      json,
      format,
      major: full ? major + 1 : major,
      minor: full ? 1 : minor + 1,
    }));
  }

  busy(sender: string): void {
    if (sender === '') return;
    this.#forgetIdle();
    const known = sender.slice(0, 200);
    this.#senders.delete(known);
    const [oldest] = this.#senders.keys();
    if (this.#senders.size >= this.#limits.senders && oldest !== undefined) this.#senders.delete(oldest);
    this.#senders.set(known, this.#clock());
  }

  /** Whether another sender is busy. */
  isOtherBusy(sender: string): boolean {
    this.#forgetIdle();
    const known = sender.slice(0, 200);
    return this.#senders.size > (this.#senders.has(known) ? 1 : 0);
  }

  #forgetIdle(): void {
    const now = this.#clock();
    for (const [sender, time] of this.#senders) if (now - time >= busyMs) this.#senders.delete(sender);
  }
}

async function storyJson(story: string): Promise<Buffer> {
  return Buffer.concat(await inSlices(jsonBytes(story)));
}

function turnIn({ story, format, major, minor }: Readonly<Record<string, unknown>>): StoryTurn {
  const isTurn = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 1;
  if (typeof story !== 'string' || typeof format !== 'string') throw new Error('it holds no story');
  if (!isTurn(major) || !isTurn(minor)) throw new Error('it holds no turns');
  return { story, format, major, minor };
}
