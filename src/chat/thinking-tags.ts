import { type PhraseTree, phraseTree } from '../patterns/phrase-finder.ts';

export interface ThinkingEnd {
  readonly text: string;
  /** The last part of the tag that belongs to what follows, for a reader that comes later. */
  readonly keep: string;
}

export interface ThinkingTags {
  readonly start: string;
  readonly ends: readonly ThinkingEnd[];
  /** All the ends, ready to be looked for. */
  readonly endTree: PhraseTree;
}

const harmonyFinal = '<|channel|>final<|message|>';
const harmonyCommentary = '<|channel|>commentary';

/** How models mark their thinking, in the order in which the marks are tried. */
export const thinkingTags: readonly ThinkingTags[] = [
  // The thoughts are a message of their own, so its end goes with the tag; a tool call may follow instead of an answer.
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

/** A reply that answers at once still opens with the name of its channel, which is no part of the answer. */
export const answerHeader = harmonyFinal;

/** The tags of the thinking that the prompt has opened, so that the reply begins inside it. */
export function openedThinking(prompt: string): ThinkingTags | undefined {
  const end = prompt.trimEnd();
  return thinkingTags.find(({ start }) => end.endsWith(start));
}

function tags(start: string, ends: readonly ThinkingEnd[]): ThinkingTags {
  return { start, ends, endTree: phraseTree(ends.map(({ text }) => text)) };
}
