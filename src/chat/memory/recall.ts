import { createHash } from 'node:crypto';
import { type Embed, hasMemories, type MemoryLibrary, memoryBlock } from '../../core/memories.ts';
import { type Message, plainText } from '../messages.ts';
import type { ChatRequest } from '../request.ts';

/** What was added to earlier messages: the same again keeps the prompt of the next turn the same up to its new messages. */
export interface RecallCache {
  get(key: string): string | undefined;
  set(key: string, block: string): void;
}

interface RecallOptions {
  readonly library: MemoryLibrary;
  readonly character?: string | undefined;
  /** Undefined where no embedding model can be used. */
  readonly embed?: Embed | undefined;
  readonly cache: RecallCache;
  /** Tells people and models apart whose conversations begin alike. */
  readonly owner: string;
}

const maxRecalled = 6;
/** Of a long message, its end is what it asks. */
const maxQueryCharacters = 1000;

/**
 * The conversation with what is remembered about its last message, at the end of that message: everything before stays as it was, so
 * that it is found in the cache. Earlier messages get what they got when they were the last one.
 */
export async function withMemories(request: ChatRequest, options: RecallOptions): Promise<ChatRequest> {
  const { conversation } = request;
  const { messages } = conversation;
  const last = messages.findLastIndex(({ role }) => role === 'user');
  if (last === -1) return request;
  const keys = keysOf(messages.slice(0, last + 1), options);
  const blocks = new Map<number, string>();
  for (const [index, message] of messages.slice(0, last + 1).entries()) {
    if (message.role !== 'user') continue;
    const key = keys[index] ?? '';
    const known = options.cache.get(key);
    const block = known ?? (index === last ? await recalled(message, options) : '');
    if (known === undefined && index === last) options.cache.set(key, block);
    if (block !== '') blocks.set(index, block);
  }
  if (blocks.size === 0) return request;
  const extended = messages.map((message, index): Message => {
    const block = blocks.get(index);
    return block === undefined ? message : { ...message, content: [...message.content, { type: 'text', text: block }] };
  });
  return { ...request, conversation: { ...conversation, messages: extended } };
}

async function recalled(message: Message, { library, character, embed }: RecallOptions): Promise<string> {
  const content = plainText(message.content);
  // The pages of this server put them there themselves, and show them.
  if (hasMemories(content)) return '';
  const text = content.slice(-maxQueryCharacters);
  return memoryBlock(await library.find({ text, character, limit: maxRecalled }, embed));
}

/** A hash for each beginning that ends with this message. */
function keysOf(messages: readonly Message[], { owner, character = '' }: RecallOptions): readonly string[] {
  const hash = createHash('sha256').update(JSON.stringify([owner, character]));
  return messages.map(({ role, content }) => {
    hash.update(JSON.stringify([role, content]));
    return hash.copy().digest('base64url');
  });
}
