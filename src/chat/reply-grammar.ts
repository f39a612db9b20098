import type { Grammar, GrammarTrigger } from '../core/request.ts';
import type { Sliced } from '../core/slices.ts';
import { composeGrammar, schemaToGrammar } from '../grammar/convert.ts';
import { classMember, literal } from '../grammar/gbnf.ts';
import { openedThinking, type ThinkingTags, thinkingTags } from './reasoning.ts';
import { allowsSeveralCalls, type ChatRequest, type OutputFormat } from './request.ts';
import { callGrammar } from './tools/call-grammar.ts';

/** The grammar of the reply. One of the request takes precedence. `inexpressible`: it would need calls in a format without grammar. */
export function* replyGrammar(
  request: ChatRequest,
  /** The format of calls; undefined without tools. */
  format: string | undefined,
  thinking: ThinkingContext,
): Sliced<Grammar | undefined | 'inexpressible'> {
  const { controls, output } = request;
  if (controls.grammar) return controls.grammar;
  if (format === undefined) return answerGrammar(request, thinking);
  const forced = request.toolChoice.type === 'required' || request.toolChoice.type === 'named';
  const answer = forced ? undefined : answerSchema(output);
  // Free text may become a call anywhere; otherwise the grammar applies from the first token.
  const lazy = !forced && answer === undefined;
  const grammar = yield* callGrammar(format, {
    tools: callableTools(request),
    parallel: allowsSeveralCalls(request),
    before: lazy ? '' : thinkingRule(thinking),
    answer,
  });
  if (!grammar) return lazy ? undefined : 'inexpressible';
  const triggers = grammar.triggers.map((trigger) => afterThinking(trigger, thinking));
  return { gbnf: grammar.gbnf, retainState: false, ...(lazy ? { triggers } : {}) };
}

/** Thoughts may quote the marker of a call: the word counts only after them. */
function afterThinking(trigger: GrammarTrigger, { prompt, template }: ThinkingContext): GrammarTrigger {
  const opened = openedThinking(prompt);
  const tags = opened ?? possibleThinking(template);
  if (trigger.type !== 'word' || !tags) return trigger;
  const ended = `(?:${tags.ends.map(({ text }) => escaped(text)).join('|')})[\\s\\S]*?`;
  const word = `(${escaped(trigger.text)})`;
  if (opened) return { type: 'pattern', source: `${ended}${word}` };
  const other = [...tags.start].map((character, index) => {
    const before = escaped(tags.start.slice(0, index));
    return `${before}[^${classMember(character)}${index === 0 ? '\\s' : ''}]`;
  });
  const free = `(?:${other.join('|')})[\\s\\S]*?`;
  return { type: 'pattern', source: `^\\s*(?:${escaped(tags.start)}[\\s\\S]*?${ended}|${free}|)${word}` };
}

function possibleThinking(template: string | undefined): ThinkingTags | undefined {
  return thinkingTags.find(({ start }) => template?.includes(start));
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

/** For a reply without calls. */
export function answerGrammar({ controls, output }: ChatRequest, thinking: ThinkingContext): Grammar | undefined {
  if (controls.grammar) return controls.grammar;
  const gbnf = structuredGrammar(output, thinking);
  return gbnf === undefined ? undefined : { gbnf, retainState: false };
}

/** The tools that this request lets the model call. */
export function callableTools({ toolChoice, conversation }: ChatRequest): ChatRequest['conversation']['tools'] {
  if (toolChoice.type === 'none') return [];
  if (toolChoice.type !== 'named') return conversation.tools;
  return conversation.tools.filter(({ name }) => name === toolChoice.name);
}

interface ThinkingContext {
  readonly prompt: string;
  /** The model may think if its template has thinking tags. */
  readonly template: string | undefined;
}

/** The grammar of an answer in a format, with optional thinking before it. */
export function structuredGrammar(output: OutputFormat, context: ThinkingContext): string | undefined {
  const schema = answerSchema(output);
  if (schema === undefined) return undefined;
  const before = thinkingRule(context);
  return before === ''
    ? schemaToGrammar(schema)
    : composeGrammar(`${before} answer`, { answer: { schema, mode: 'strict' } }).grammar;
}

/** The schema of the answer; undefined for text. */
function answerSchema(output: OutputFormat): unknown {
  switch (output.type) {
    case 'text':
      return undefined;
    case 'json':
      return { type: 'object' };
    case 'schema':
      return output.schema;
  }
}

/** GBNF of the thinking: required if the prompt has opened it, otherwise optional. */
function thinkingRule({ prompt, template }: ThinkingContext): string {
  const opened = openedThinking(prompt);
  if (opened) return thoughts(opened);
  const possible = possibleThinking(template);
  return possible ? `( ${literal(possible.start)} ${thoughts(possible)} )?` : '';
}

function thoughts({ ends: [end] }: ThinkingTags): string {
  const text = end?.text ?? '';
  return `( ${withoutText(text)} )* ${literal(text)} [ \\t\\n]*`;
}

/** One step of a text that does not contain `text`: any other character, or a prefix of it and then another character. */
function withoutText(text: string): string {
  return [...text]
    .map((character, index) => `${index > 0 ? `${literal(text.slice(0, index))} ` : ''}[^${classMember(character)}]`)
    .join(' | ');
}
