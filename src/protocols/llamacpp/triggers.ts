import type { AppError } from '../../core/errors.ts';
import type { GrammarTrigger } from '../../core/request.ts';
import type { JsonObject } from '../../http/body.ts';
import { PatternError } from '../../patterns/parse.ts';
import { compilePattern } from '../../patterns/search.ts';
import { isObject, wrong } from '../fields/readers.ts';

const types = { token: 0, word: 1, pattern: 2, wholePattern: 3 };
const limits = { count: 64, characters: 10_000, word: 900 };

/** What has to appear in the text for the grammar to begin: what is found belongs to what the grammar rules. */
export function decodeTriggers(value: unknown): readonly GrammarTrigger[] {
  const triggers = Array.isArray(value) ? value : [];
  if (triggers.length === 0) throw refusal('given where grammar_lazy is on');
  if (triggers.length > limits.count) throw refusal(`at most ${limits.count} triggers`);
  const texts = triggers.map((trigger) =>
    isObject(trigger) && typeof trigger.value === 'string' ? trigger.value : '',
  );
  if (texts.join('').length > limits.characters) {
    throw refusal(`triggers with at most ${limits.characters} characters together`);
  }
  return triggers.map(decodeTrigger);
}

function decodeTrigger(trigger: unknown): GrammarTrigger {
  if (!isObject(trigger)) throw refusal('an array of {"type", "value"}');
  if (trigger.type === types.token && Number.isInteger(trigger.token)) {
    return { type: 'token', token: trigger.token as number };
  }
  const text = textOf(trigger);
  if (trigger.type === types.pattern) return { type: 'pattern', source: checked(text, text) };
  if (trigger.type === types.wholePattern) return { type: 'pattern', source: checked(`^(?:${text})$`, text) };
  if (text.length > limits.word) throw refusal(`a word of at most ${limits.word} characters`);
  return { type: 'word', text };
}

function textOf({ value }: JsonObject): string {
  if (typeof value !== 'string' || value === '') throw refusal('an array of {"type", "value"}, the value a text');
  return value;
}

/** Patterns are searched for in linear time, which not everything that other engines know allows. */
function checked(pattern: string, spoken: string): string {
  try {
    // First as it was written, so that the place of a mistake is one in there.
    for (const source of [spoken, pattern]) compilePattern(source);
    return pattern;
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    const place = error.place === undefined ? '' : ` at character ${error.place}`;
    const shown = spoken.length > 100 ? `${spoken.slice(0, 100)}…` : spoken;
    throw refusal(`patterns that can be searched for, but in ${JSON.stringify(shown)}${place} ${error.message}`);
  }
}

function refusal(expected: string): AppError {
  return wrong('grammar_triggers', expected);
}
