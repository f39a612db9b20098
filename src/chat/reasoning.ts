import { PhraseFinder, phraseTree } from '../patterns/phrase-finder.ts';
import { answerHeader, openedThinking, type ThinkingTags, thinkingTags } from './thinking-tags.ts';

export interface ReplyPart {
  readonly type: 'reasoning-delta' | 'text-delta';
  readonly text: string;
}

export interface ReasoningOptions {
  readonly prompt: string;
  /** Without it the reply passes as it is, tags included. */
  readonly encapsulate: boolean;
  /**
   * What an end tag without a start means. `split`: all before it was thinking; everything is then held back until that
   * is known, which suits a reply that is not streamed. `keep`: it is text, because what came before has been shown.
   */
  readonly loneEnd: 'split' | 'keep';
}

type State =
  | { readonly type: 'outside'; readonly finder: PhraseFinder }
  | { readonly type: 'inside'; readonly tags: ThinkingTags; readonly finder: PhraseFinder }
  | { readonly type: 'passing' };

const startTexts = [...thinkingTags.map(({ start }) => start), answerHeader];
const endTexts = thinkingTags.flatMap(({ ends }) => ends.map(({ text }) => text));
const startTree = phraseTree(startTexts);
const startAndEndTree = phraseTree([...startTexts, ...endTexts]);

/**
 * Parts the first block of thinking of a reply from its text, piece by piece. White space next to the tags belongs to
 * neither. The result does not depend on how the reply was cut.
 */
export class ReasoningSplitter {
  readonly #holdsAll: boolean;
  #state: State;
  /** Text that may turn out to be thinking (lone end tags), or white space that may stand before a tag. */
  #pending = '';
  /** Right after a tag, or at the beginning of the reply: white space here is not shown. */
  #atEdge: boolean;

  constructor({ prompt, encapsulate, loneEnd }: ReasoningOptions) {
    this.#holdsAll = loneEnd === 'split';
    const opened = encapsulate ? openedThinking(prompt) : undefined;
    const outside: State = { type: 'outside', finder: new PhraseFinder(this.#holdsAll ? startAndEndTree : startTree) };
    const answering: State = encapsulate ? outside : { type: 'passing' };
    this.#state = opened ? inside(opened) : answering;
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
      const found = state.finder.push(unread);
      this.#read(parts, state, found.text);
      if (found.match === undefined) break;
      unread = found.match.rest;
      if (state.type === 'outside') this.#meetTag(parts, found.match.phrase);
      else unread = this.#endThinking(state.tags, found.match.phrase) + unread;
    }
    return parts;
  }

  /** At the end of the reply: thinking that was never closed stays thinking. */
  finish(): readonly ReplyPart[] {
    const parts: ReplyPart[] = [];
    const state = this.#state;
    if (state.type !== 'passing') this.#read(parts, state, state.finder.flush());
    const left = this.#pending;
    this.#pending = '';
    this.#state = { type: 'passing' };
    if (left !== '') parts.push({ type: state.type === 'inside' ? 'reasoning-delta' : 'text-delta', text: left });
    return parts;
  }

  #read(parts: ReplyPart[], state: State, text: string): void {
    if (text === '') return;
    if (state.type === 'inside') this.#emitThinking(parts, text);
    else if (this.#holdsAll) this.#pending += text;
    else this.#emitBeforeTag(parts, text);
  }

  #meetTag(parts: ReplyPart[], phrase: string): void {
    const before = this.#takePending();
    const tags = thinkingTags.find(({ start }) => start === phrase);
    const endsThoughts = tags === undefined && phrase !== answerHeader;
    if (before.trim() !== '') {
      parts.push(
        endsThoughts ? { type: 'reasoning-delta', text: before.trim() } : { type: 'text-delta', text: before },
      );
    }
    this.#atEdge = true;
    this.#state = tags ? inside(tags) : { type: 'passing' };
  }

  #endThinking(tags: ThinkingTags, phrase: string): string {
    this.#pending = '';
    this.#atEdge = true;
    this.#state = { type: 'passing' };
    return tags.ends.find(({ text }) => text === phrase)?.keep ?? '';
  }

  /** White space at the end waits: it is dropped when the thinking ends there. */
  #emitThinking(parts: ReplyPart[], text: string): void {
    const whole = this.#takePending() + (this.#atEdge ? text.trimStart() : text);
    const shown = whole.trimEnd();
    this.#pending = whole.slice(shown.length);
    this.#emit(parts, 'reasoning-delta', shown);
  }

  /** White space at the very beginning waits: it is dropped when a tag follows. */
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
    const shown = this.#atEdge ? text.trimStart() : text;
    if (shown === '') return;
    this.#atEdge = false;
    parts.push({ type, text: shown });
  }

  #takePending(): string {
    const pending = this.#pending;
    this.#pending = '';
    return pending;
  }
}

function inside(tags: ThinkingTags): State {
  return { type: 'inside', tags, finder: new PhraseFinder(tags.endTree) };
}
