import { type Content, type Conversation, flatContent, joinContent, type Message, text } from './messages.ts';
import type { ChatTemplate, RenderedTemplate, TemplateInput } from './template.ts';

export const foldedWarning = 'there is no place for a system turn, so it became part of a user turn';

/** Turns that a template rejects or omits become part of a user turn. Throws if text would be lost even so. */
export function renderAll(template: ChatTemplate, input: TemplateInput): RenderedTemplate {
  const { conversation } = input;
  const first = template(input);
  const lost = lostTurns(template, input, first.prompt);
  const loses = (role: Role): boolean => lost.some((index) => conversation.messages[index]?.role === role);
  if (loses('tool')) throw new Error('it leaves out tool results');
  if (loses('user')) throw new Error('it leaves out a user turn');
  // A warning may concern a turn that is shown, but in a form that the model was not trained with.
  const rejected = first.warnings.length > 0 ? textTurns(conversation, sideRoles) : lost;
  if (rejected.length === 0) return first;
  const second = template({ ...input, conversation: foldTurns(conversation, new Set(rejected)) });
  const finder = new TextFinder(second.prompt);
  if (lost.some((index) => !finder.has(textAt(conversation, index)))) {
    throw new Error('it leaves out a system turn');
  }
  if (lost.length === 0 && second.warnings.length >= first.warnings.length) return first;
  return { ...second, warnings: [...second.warnings, foldedWarning] };
}

type Role = Message['role'];
const sideRoles: readonly Role[] = ['system', 'other'];
/** Turns of the assistant are not among them: templates may leave out its earlier thoughts. */
const losableRoles: readonly Role[] = [...sideRoles, 'tool', 'user'];

function textTurns(conversation: Conversation, roles: readonly Role[]): readonly number[] {
  return conversation.messages.flatMap(({ role }, index) =>
    roles.includes(role) && textAt(conversation, index) !== '' ? [index] : [],
  );
}

function textAt({ messages, media }: Conversation, index: number): string {
  return flatContent(messages[index]?.content ?? [], media).trim();
}

/** Turns whose text is not in the prompt. The template may have changed the text, so it is rendered again with marks. */
function lostTurns(template: ChatTemplate, input: TemplateInput, prompt: string): readonly number[] {
  const { conversation } = input;
  const finder = new TextFinder(prompt);
  const missing = textTurns(conversation, losableRoles).filter((index) => !finder.has(textAt(conversation, index)));
  if (missing.length === 0) return missing;
  const unseen = new Set(missing);
  const messages = conversation.messages.map((message, index) =>
    unseen.has(index) ? { ...message, content: text(mark(index)) } : message,
  );
  const marked = template({ ...input, conversation: { ...conversation, messages } }).prompt;
  for (const [, index] of marked.matchAll(marks)) unseen.delete(Number(index));
  return missing.filter((index) => unseen.has(index));
}

const mark = (index: number): string => `turn-${index}-of-this-chat`;
const marks = /turn-(\d+)-of-this-chat/g;

/** Moves turns into the next user turn or else the previous one, so that roles still alternate. */
export function foldTurns(conversation: Conversation, indices: ReadonlySet<number>): Conversation {
  const folded: Message[] = [];
  let waiting: Content[] = [];
  for (const [index, message] of conversation.messages.entries()) {
    if (indices.has(index)) {
      waiting.push(message.content);
      continue;
    }
    if (waiting.length === 0) folded.push(message);
    else if (message.role === 'user') folded.push(userTurn([...waiting, message.content]));
    else folded.push(...behind(folded.pop(), waiting), message);
    waiting = [];
  }
  if (waiting.length > 0) folded.push(...behind(folded.pop(), waiting));
  return { ...conversation, messages: folded };
}

function behind(last: Message | undefined, contents: readonly Content[]): readonly Message[] {
  if (last?.role === 'user') return [userTurn([last.content, ...contents])];
  return [...(last ? [last] : []), userTurn(contents)];
}

function userTurn(contents: readonly Content[]): Message {
  return { role: 'user', content: joinContent(contents, '\n\n') };
}

/** The search budget, in lengths of the text. */
const maxWalks = 32;

/** Finds many texts, mostly in order, in a long one in linear time; nothing is found after the budget is spent. */
export class TextFinder {
  readonly #text: string;
  #behind = 0;
  #left: number;

  constructor(text: string) {
    this.#text = text;
    this.#left = maxWalks * text.length;
  }

  has(needle: string): boolean {
    return this.#from(this.#behind, needle) || this.#from(0, needle);
  }

  /** The remaining budget in characters. */
  get left(): number {
    return this.#left;
  }

  #from(start: number, needle: string): boolean {
    if (this.#left < 0) return false;
    const index = this.#text.indexOf(needle, start);
    this.#left -= (index === -1 ? this.#text.length : index + needle.length) - start;
    if (index === -1) return false;
    this.#behind = index + needle.length;
    return true;
  }
}
