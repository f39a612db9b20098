import type { GenerationRequest } from '../../../core/request.ts';
import type { GenerationParts } from './generation.ts';
import type { Loaded } from './load/model.ts';

/**
 * Guesses as the options ask, where wrong ones can be taken back: from the text itself, and by the draft model where the
 * text has nothing to offer. The model knows nothing of a grammar and would mostly guess wrong under one.
 */
export function drafter(
  {
    options,
    context,
    draft: model,
  }: Pick<Loaded, 'draft'> & {
    options: Pick<Loaded['options'], 'draft' | 'deterministic'>;
    context: Pick<Loaded['context'], 'memory'>;
  },
  { grammar }: Pick<GenerationRequest, 'grammar'>,
  /** The sequence that is guessed for: the draft model follows each with one of its own. */
  sequence: number,
): GenerationParts['draft'] {
  const { draft, deterministic } = options;
  const guesser = grammar ? undefined : model;
  // Several tokens at once are rounded otherwise than one.
  if (deterministic) return undefined;
  if (!draft || context.memory === 'state' || (draft.pattern <= 0 && !guesser)) return undefined;
  return (tokens, length, most) => {
    const count = Math.min(most, draft.amount);
    const found = draft.pattern > 0 ? lookupDraft(tokens, length, draft.pattern, count) : nothing;
    return found.length > 0 || !guesser ? found : guesser.propose(sequence, tokens, length, count);
  };
}

const nothing = new Int32Array(0);

/**
 * Guesses what comes next without a second model: where the last tokens stood before, what followed them then is likely
 * to follow again. Texts that quote themselves (code, summaries, JSON) profit; others lose nothing but the search.
 */
export function lookupDraft(tokens: Int32Array, length: number, pattern: number, most: number): Int32Array {
  const start = length - pattern;
  if (start <= 0 || most <= 0) return tokens.subarray(0, 0);
  for (let place = start - 1; place >= 0; place -= 1) {
    if (!matches(tokens, place, start, pattern)) continue;
    const from = place + pattern;
    return tokens.subarray(from, Math.min(from + most, length));
  }
  return tokens.subarray(0, 0);
}

function matches(tokens: Int32Array, place: number, start: number, pattern: number): boolean {
  for (let offset = pattern - 1; offset >= 0; offset -= 1) {
    if (tokens[place + offset] !== tokens[start + offset]) return false;
  }
  return true;
}
