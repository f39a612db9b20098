/** A fact that a person wants to be known in later chats. */
export interface Memory {
  readonly id: string;
  readonly text: string;
  /** The character that knows it; missing for what every chat of the person may know. */
  readonly character?: string;
  /** Always part of the prompt. */
  readonly pinned: boolean;
  /** Seconds since 1970. */
  readonly createdAt: number;
  readonly changedAt: number;
}

export interface NewMemory extends Pick<Memory, 'text'> {
  readonly character?: string | undefined;
  readonly pinned?: boolean | undefined;
}

interface MemoryChange {
  readonly text?: string | undefined;
  /** `null`: no character any more. */
  readonly character?: string | null | undefined;
  readonly pinned?: boolean | undefined;
}

export interface MemoryQuery {
  /** What the chat is about now. */
  readonly text: string;
  readonly character?: string | undefined;
  readonly limit: number;
}

/** A vector for each text, of one model. */
export interface Embed {
  readonly model: string;
  readonly vectors: (texts: readonly string[]) => Promise<readonly Float32Array[]>;
}

/** What one person wants to be remembered. */
export interface MemoryLibrary {
  /** The pinned ones first, then the newest. With a character: its own and those of the person. */
  list(character?: string): Promise<readonly Memory[]>;
  /** One that is there already is returned as it is. */
  add(memory: NewMemory): Promise<Memory>;
  /** Undefined if there is none of this id. */
  change(id: string, change: MemoryChange): Promise<Memory | undefined>;
  delete(id: string): Promise<boolean>;
  /** The pinned ones, and those that are nearest in meaning; by shared words without `embed`. */
  find(query: MemoryQuery, embed?: Embed): Promise<readonly Memory[]>;
}

/** Of the text of one memory. */
export const maxMemoryCharacters = 2000;

/** Of all memories of one message, so that a small context has room for the conversation. */
const maxBlockCharacters = 3000;
const blockHead = '[Remembered from earlier chats, to be used only where it helps:';

/** As the model reads them, at the end of a message. Empty without memories. */
export function memoryBlock(memories: readonly Pick<Memory, 'text'>[]): string {
  const lines: string[] = [];
  let characters = 0;
  for (const { text } of memories) {
    const line = `- ${text.replace(/\s+/g, ' ')}`;
    characters += line.length;
    if (characters > maxBlockCharacters) break;
    lines.push(line);
  }
  return lines.length === 0 ? '' : `\n\n${blockHead}\n${lines.join('\n')}]`;
}

export function hasMemories(message: string): boolean {
  return message.includes(blockHead);
}
