import { createHash } from 'node:crypto';
import { type ClientId, knownClient, sideTask } from '../core/clients.ts';
import type { RequestContext } from '../core/request-context.ts';
import { type Conversation, joinContent, type Message, plainText, type Tool, text } from './messages.ts';
import type { ChatRequest } from './request.ts';
import type { ChatService } from './service.ts';

// Known clients put text that differs between their conversations before text that is the same in all of them, so that the cached
// prompt of one is of no use to the next. Such text is left out if it means nothing to the model, or put behind the rest. The result
// depends on the conversation alone: its turns still extend one another.

interface Rule {
  /** For the inspector. */
  readonly change: string;
  /** The conversation itself if the rule does not apply. */
  readonly apply: (conversation: Conversation) => Conversation;
}

/** The version and a checksum of the first question. */
const billingLine = /^x-anthropic-billing-header:[^\n]*\n*/;
const environment = /(?:[^\n]*:\n)?<env>\n[\s\S]*?\n<\/env>\n*/;
const noteStart = '<system>\n';
const noteEnd = '\n</system>';

const rules: Readonly<Partial<Record<ClientId, readonly Rule[]>>> = {
  'claude-code': [
    {
      change: 'The billing line of the system prompt was left out.',
      apply: (conversation) => withSystemText(conversation, (text) => text.replace(billingLine, '')),
    },
    {
      change: 'The notes of the system were moved from behind the first question to before it.',
      apply: (conversation) => {
        const question = firstQuestion(conversation);
        const last = question?.content.at(-1);
        if (!question || last?.type !== 'text' || !last.text.endsWith(noteEnd)) return conversation;
        const start = last.text.lastIndexOf(noteStart);
        if (start <= 0) return conversation;
        const before = [...question.content.slice(0, -1), ...text(last.text.slice(0, start).replace(/\n$/, ''))];
        const content = joinContent([text(last.text.slice(start)), before], '\n');
        return replaced(conversation, question, { ...question, content });
      },
    },
  ],
  opencode: [
    {
      change: 'The environment was moved from the system prompt to the first question.',
      apply: (conversation) => {
        const question = firstQuestion(conversation);
        const [block] = environment.exec(systemText(conversation)) ?? [];
        if (!question || block === undefined) return conversation;
        const content = joinContent([text(block.trimEnd()), question.content], '\n\n');
        const moved = replaced(conversation, question, { ...question, content });
        return withSystemText(moved, (text) => text.replace(environment, ''));
      },
    },
  ],
};

interface Rearranged {
  readonly request: ChatRequest;
  /** What was changed, in sentences. */
  readonly changes: readonly string[];
}

/** The request with the texts of known clients in an order in which conversations share as much of their beginning as possible. */
export function rearranged(request: ChatRequest, program?: ClientId): Rearranged {
  const id = clientOf(request.conversation, program);
  let { conversation } = request;
  const changes: string[] = [];
  for (const { change, apply } of id ? (rules[id] ?? []) : []) {
    const next = apply(conversation);
    if (next !== conversation) changes.push(change);
    conversation = next;
  }
  return { request: changes.length === 0 ? request : { ...request, conversation }, changes };
}

/** How many conversations are remembered by their tools. */
const maxChats = 32;
const listedChange = 'The tools of the chat were added, because its other turns begin with them; none can be called.';

/**
 * Codex asks for a summary of a chat without the tools, which come before the messages in most templates: nothing after them would
 * be found in the cache. Remembers the tools of its chats and gives them to the summary.
 */
class ChatTools {
  readonly #byChat = new Map<string, readonly Tool[]>();

  listed(request: ChatRequest, { program, client, part = '' }: RequestContext): ChatRequest {
    const { conversation } = request;
    if (clientOf(conversation, program) !== 'codex') return request;
    const key = chatKey(conversation, [client, part]);
    const last = conversation.messages.at(-1);
    if (conversation.tools.length > 0) this.#keep(key, conversation.tools);
    else if (last && sideTask({ lastText: plainText(last.content) }) === 'compaction') {
      const tools = this.#byChat.get(key);
      if (tools)
        return { ...request, conversation: { ...conversation, tools }, toolChoice: { type: 'none', listed: true } };
    }
    return request;
  }

  #keep(key: string, tools: readonly Tool[]): void {
    // Least recently used first.
    this.#byChat.delete(key);
    this.#byChat.set(key, tools);
    const [oldest] = this.#byChat.keys();
    if (this.#byChat.size > maxChats && oldest !== undefined) this.#byChat.delete(oldest);
  }
}

/** The chats of a model whose prompts share their beginnings, between conversations and with the summary of one. */
export function withSharedPrefixes(chat: ChatService): ChatService {
  const tools = new ChatTools();
  const replies: ChatService['replies'] = (original, context, count) => {
    const { request, changes } = rearranged(original, context.program);
    const withListedTools = tools.listed(request, context);
    const all = withListedTools === request ? changes : [...changes, listedChange];
    if (all.length > 0) context.watch?.rearranged?.(all);
    return chat.replies(withListedTools, context, count);
  };
  return {
    ...chat,
    replies,
    reply: (request, context) => replies(request, context, 1)[0] as ReturnType<ChatService['reply']>,
    render: (request, signal) => chat.render(rearranged(request).request, signal),
    countTokens: (request, signal, context) => chat.countTokens(rearranged(request).request, signal, context),
  };
}

/** By its headers, else by the texts that it sends; libraries are used by many programs. */
function clientOf(conversation: Conversation, program?: ClientId): ClientId | undefined {
  if (program === 'codex' || (program && rules[program])) return program;
  const text = systemText(conversation);
  return text === '' ? undefined : knownClient({ system: [text, text.replace(billingLine, '')] }).id;
}

/** Of the first message. */
function systemText({ messages: [first] }: Conversation): string {
  return first?.role === 'system' ? plainText(first.content) : '';
}

function withSystemText(conversation: Conversation, change: (text: string) => string): Conversation {
  const [first] = conversation.messages;
  const system = systemText(conversation);
  const changed = change(system);
  if (!first || changed === system) return conversation;
  const rest = conversation.messages.slice(1);
  const messages: readonly Message[] = changed === '' ? rest : [{ role: 'system', content: text(changed) }, ...rest];
  return { ...conversation, messages };
}

function firstQuestion({ messages }: Conversation): Message | undefined {
  return messages.find(({ role }) => role === 'user');
}

function replaced(conversation: Conversation, old: Message, message: Message): Conversation {
  return { ...conversation, messages: conversation.messages.map((one) => (one === old ? message : one)) };
}

/** Identifies a conversation by its messages before the first reply. */
function chatKey({ messages }: Conversation, owner: readonly string[]): string {
  const end = messages.findIndex(({ role }) => role === 'assistant');
  const hash = createHash('sha256').update(JSON.stringify(owner));
  for (const { role, content } of messages.slice(0, end === -1 ? messages.length : end)) {
    hash.update(JSON.stringify([role, plainText(content)]));
  }
  return hash.digest('hex');
}
