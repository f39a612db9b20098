import type { Grammar } from '../core/request.ts';
import type { ChatRequest } from './request.ts';
import { answerSchema, structuredGrammar, type ThinkingContext, thinkingRule } from './structured.ts';
import { callGrammar } from './tools/call-grammar.ts';

/**
 * What the reply is held to. A grammar of the request itself comes before everything else. `unspeakable` means that calls
 * must be part of it, in a format that no grammar here can spell.
 */
export function replyGrammar(
  request: ChatRequest,
  /** How this model writes its calls; undefined where it is offered no tools. */
  format: string | undefined,
  thinking: ThinkingContext,
): Grammar | undefined | 'unspeakable' {
  const { controls, output } = request;
  if (controls.grammar) return controls.grammar;
  if (format === undefined) return answerGrammar(request, thinking);
  const forced = isForced(request);
  const answer = forced ? undefined : answerSchema(output);
  // Free text may turn into a call anywhere; otherwise the first token already decides.
  const lazy = !forced && answer === undefined;
  const grammar = callGrammar(format, {
    tools: callableTools(request),
    parallel: request.parallelToolCalls,
    before: lazy ? '' : thinkingRule(thinking),
    answer,
  });
  if (!grammar) return lazy ? undefined : 'unspeakable';
  return { gbnf: grammar.gbnf, retainState: false, ...(lazy ? { triggers: grammar.triggers } : {}) };
}

/** For a reply without calls. */
export function answerGrammar({ controls, output }: ChatRequest, thinking: ThinkingContext): Grammar | undefined {
  if (controls.grammar) return controls.grammar;
  const gbnf = structuredGrammar(output, thinking);
  return gbnf === undefined ? undefined : { gbnf, retainState: false };
}

function isForced({ toolChoice }: ChatRequest): boolean {
  return toolChoice.type === 'required' || toolChoice.type === 'named';
}

/** The tools that this request lets the model call. */
export function callableTools({ toolChoice, conversation }: ChatRequest): ChatRequest['conversation']['tools'] {
  if (toolChoice.type === 'none') return [];
  if (toolChoice.type !== 'named') return conversation.tools;
  return conversation.tools.filter(({ name }) => name === toolChoice.name);
}
