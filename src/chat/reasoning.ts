import { PhraseFinder, type PhraseTree, phraseTree } from '../patterns/phrase-finder.ts';

export interface ThinkingTags {
  readonly start: string;
  /** `keep` is the last part of the end tag that belongs to what follows. */
  readonly ends: readonly { readonly text: string; readonly keep: string }[];
  readonly endTree: PhraseTree;
}

const harmonyFinal = '<|channel|>final<|message|>';
const harmonyCommentary = '<|channel|>commentary';

/** How models mark their thinking, in the order in which the marks are tried. */
export const thinkingTags: readonly ThinkingTags[] = [
  // The thoughts are a separate message, so its end goes with the tag; a tool call may follow instead of an answer.
  tags('<|channel|>analysis<|message|>', [
    { text: `<|end|><|start|>assistant${harmonyFinal}`, keep: '' },
    { text: `<|start|>assistant${harmonyFinal}`, keep: '' },
    { text: `<|end|><|start|>assistant${harmonyCommentary}`, keep: harmonyCommentary },
    { text: `<|start|>assistant${harmonyCommentary}`, keep: harmonyCommentary },
  ]),
  tags(' to=self<|message|>', [{ text: '<|eom|><|start|>assistant', keep: '' }]),
  tags('<think>', [{ text: '</think>', keep: '' }]),
  tags('<seed:think>', [{ text: '</seed:think>', keep: '' }]),
  tags('<|START_THINKING|>', [{ text: '<|END_THINKING|>', keep: '' }]),
  tags('<|channel>thought', [{ text: '<channel|>', keep: '' }]),
  tags('[THINK]', [{ text: '[/THINK]', keep: '' }]),
];

function tags(start: string, ends: ThinkingTags['ends']): ThinkingTags {
  return { start, ends, endTree: phraseTree(ends.map(({ text }) => text)) };
}

/** The tags of the thinking that the end of the prompt has opened, so that the reply begins inside it. */
export function openedThinking(prompt: string): ThinkingTags | undefined {
  const end = prompt.trimEnd();
  return thinkingTags.find(({ start }) => end.endsWith(start));
}

export interface ReplyPart {
  readonly type: 'reasoning-delta' | 'text-delta';
  readonly text: string;
}

type State =
  | { readonly type: 'outside'; readonly finder: PhraseFinder }
  | { readonly type: 'inside'; readonly tags: ThinkingTags; readonly finder: PhraseFinder }
  | { readonly type: 'passing' };

// A reply without reasoning may begin with its channel name, which is not part of the answer.
const startTree = phraseTree([...thinkingTags.map(({ start }) => start), harmonyFinal]);

/**
 * Separates the first block of thinking of a streamed reply from its text. White space next to the tags belongs to neither.
 * The result does not depend on how the reply was cut. An end tag without a start is text.
 */
export class ReasoningSplitter {
  #state: State;
  /** White space that is dropped if a tag follows. */
  #pending = '';
  /** Right after a tag, or at the beginning of the reply: white space is not emitted. */
  #atEdge: boolean;

  /** Without `encapsulate` the reply passes unchanged, tags included. */
  constructor({ prompt, encapsulate }: { readonly prompt: string; readonly encapsulate: boolean }) {
    const opened = encapsulate ? openedThinking(prompt) : undefined;
    const outside: State = encapsulate ? { type: 'outside', finder: new PhraseFinder(startTree) } : { type: 'passing' };
    this.#state = opened ? inside(opened) : outside;
    this.#atEdge = encapsulate;
  }

  push(text: string): readonly ReplyPart[] {
    const parts: ReplyPart[] = [];
    let unread = text;
    while (unread !== '') {
      const state = this.#state;
      if (state.type === 'passing') {
        this.#emit(parts, 'text-delta', unread);
        break;
      }
      const { text: plain, match } = state.finder.push(unread);
      this.#read(parts, state, plain);
      if (match === undefined) break;
      unread = this.#changeState(state, match.phrase) + match.rest;
    }
    return parts;
  }

  /** At the end of the reply: thinking that was never closed stays thinking. */
  finish(): readonly ReplyPart[] {
    const parts: ReplyPart[] = [];
    const state = this.#state;
    if (state.type !== 'passing') this.#read(parts, state, state.finder.flush());
    const text = this.#takePending();
    this.#state = { type: 'passing' };
    if (text !== '') parts.push({ type: state.type === 'inside' ? 'reasoning-delta' : 'text-delta', text });
    return parts;
  }

  /** Returns the part of the tag that belongs to the text behind it. */
  #changeState(state: Exclude<State, { type: 'passing' }>, phrase: string): string {
    this.#pending = '';
    this.#atEdge = true;
    const opened = state.type === 'outside' ? thinkingTags.find(({ start }) => start === phrase) : undefined;
    this.#state = opened ? inside(opened) : { type: 'passing' };
    if (state.type === 'outside') return '';
    return state.tags.ends.find(({ text }) => text === phrase)?.keep ?? '';
  }

  #read(parts: ReplyPart[], state: State, text: string): void {
    if (text === '') return;
    if (state.type === 'inside') this.#emitThinking(parts, text);
    else this.#emitBeforeTag(parts, text);
  }

  /** White space at the end is held back: it is dropped if the thinking ends there. */
  #emitThinking(parts: ReplyPart[], text: string): void {
    const whole = this.#takePending() + (this.#atEdge ? text.trimStart() : text);
    const visible = whole.trimEnd();
    this.#pending = whole.slice(visible.length);
    this.#emit(parts, 'reasoning-delta', visible);
  }

  /** White space at the very beginning is held back: it is dropped if a tag follows. */
  #emitBeforeTag(parts: ReplyPart[], text: string): void {
    const whole = this.#takePending() + text;
    if (this.#atEdge && whole.trim() === '') {
      this.#pending = whole;
      return;
    }
    this.#atEdge = false;
    this.#emit(parts, 'text-delta', whole);
  }

  #emit(parts: ReplyPart[], type: ReplyPart['type'], text: string): void {
    const visible = this.#atEdge ? text.trimStart() : text;
    if (visible === '') return;
    this.#atEdge = false;
    parts.push({ type, text: visible });
  }

  #takePending(): string {
    const pending = this.#pending;
    this.#pending = '';
    return pending;
  }
}

function inside(opened: ThinkingTags): State {
  return { type: 'inside', tags: opened, finder: new PhraseFinder(opened.endTree) };
}
