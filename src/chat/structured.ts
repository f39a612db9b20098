import { composeGrammar, schemaToGrammar } from '../grammar/convert.ts';
import { literal } from '../grammar/gbnf.ts';
import type { OutputFormat } from './request.ts';
import { openedThinking, type ThinkingTags, thinkingTags } from './thinking-tags.ts';

export interface ThinkingContext {
  readonly prompt: string;
  /** The model's template: where it speaks of thinking, the model may think. */
  readonly template: string | undefined;
}

/** The grammar that holds the answer to its format, and lets the model think before it. */
export function structuredGrammar(output: OutputFormat, context: ThinkingContext): string | undefined {
  const schema = answerSchema(output);
  if (schema === undefined) return undefined;
  const before = thinkingRule(context);
  return before === ''
    ? schemaToGrammar(schema)
    : composeGrammar(`${before} answer`, { answer: { schema, mode: 'strict' } }).grammar;
}

/** The schema of the answer; undefined where its form is free. */
export function answerSchema(output: OutputFormat): unknown {
  switch (output.type) {
    case 'text':
      return undefined;
    case 'json':
      return { type: 'object' };
    case 'schema':
      return output.schema;
  }
}

/** A piece of GBNF that matches the thinking: required where the prompt has opened it, optional where it may come. */
export function thinkingRule({ prompt, template }: ThinkingContext): string {
  const opened = openedThinking(prompt);
  if (opened) return thoughts(opened);
  const possible = thinkingTags.find(({ start }) => template?.includes(start));
  return possible ? `( ${literal(possible.start)} ${thoughts(possible)} )?` : '';
}

function thoughts({ ends: [end] }: ThinkingTags): string {
  const text = end?.text ?? '';
  return `( ${withoutText(text)} )* ${literal(text)} [ \\t\\n]*`;
}

/** One step of a text that does not run into `text`: any other character, or its beginning and then another one. */
function withoutText(text: string): string {
  return [...text]
    .map((character, index) => `${index > 0 ? `${literal(text.slice(0, index))} ` : ''}[^${classMember(character)}]`)
    .join(' | ');
}

function classMember(character: string): string {
  return /[\]\\^-]/.test(character) ? `\\${character}` : character;
}
