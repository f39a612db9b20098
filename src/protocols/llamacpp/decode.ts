import type { AppError } from '../../core/errors.ts';
import type { GenerationControls, Grammar, GrammarTrigger } from '../../core/request.ts';
import type { Sampling } from '../../core/sampling-fields.ts';
import type { JsonObject } from '../../http/body.ts';
import { PatternError } from '../../patterns/errors.ts';
import { compilePattern } from '../../patterns/search.ts';
import { type ControlLimits, limitTokens, penaltyRange } from '../controls/decode.ts';
import type { Controls } from '../controls/table.ts';
import { isAbsent, isObject, wrong } from '../fields.ts';
import { grammarOf, type SchemaToGrammar } from '../output-schema.ts';
import type { ReadBody } from '../read-body.ts';
import type { OptionFields, optionFields } from './fields.ts';
import { withSamplers } from './samplers.ts';

/** The seed that this dialect sends for "any". */
const anySeed = 2 ** 32 - 1;
/** The engine draws a fresh seed for 0, which is a seed like any other here; this one is used for it. */
const seedForZero = 2 ** 31;

/** The seed that was used, as the client would send it to get the same text again. */
export function spokenSeed(seed: number): number {
  return seed === seedForZero ? 0 : seed;
}

/** The native reader would refuse the biases of this dialect. */
export function nativeBody(body: JsonObject): JsonObject {
  return { ...body, logit_bias: null };
}

/** Everything but the prompt, which differs between the endpoints, and the biases, which need the tokenizer. */
export function decodeOptions({ fields, native, controls: base, limits }: ReadBody<typeof optionFields>) {
  const alternatives = Math.max(0, fields.n_probs ?? fields.logprobs ?? 0);
  const controls: GenerationControls = {
    ...base,
    maxTokens: decodeLength(fields, base.maxTokens, limits),
    sampling: decodeSampling(fields, native, base.sampling, limits.contextSize),
    stop: fields.stop ?? base.stop,
    grammar: decodeGrammar(fields, base.grammar, limits.schemaToGrammar),
    // Token numbers come with the probabilities.
    logprobs: alternatives > 0 ? alternatives : fields.return_tokens ? 0 : undefined,
    ...(fields.return_progress && fields.stream && { reportsProgress: true }),
  };
  const output = {
    stream: fields.stream,
    timingsPerToken: fields.timings_per_token,
    postSampling: fields.post_sampling_probs,
    alternatives,
    returnTokens: fields.return_tokens,
    progress: fields.return_progress,
    fields: fields.response_fields,
  };
  // 0 is off.
  const earlyStop = { minIndent: Math.max(0, fields.n_indent), milliseconds: Math.max(0, fields.t_max_predict_ms) };
  return { controls, output, earlyStop, count: fields.n_cmpl ?? fields.n ?? 1 };
}

/** The form of the reply. */
export type OutputOptions = ReturnType<typeof decodeOptions>['output'];

/**
 * Ends a text before its length is reached: at a line after the first that is indented less than `minIndent`, or after
 * a whole line when `milliseconds` have passed since the first token.
 */
export type EarlyStop = ReturnType<typeof decodeOptions>['earlyStop'];

/** With 0 the prompt is only read into the cache; less than 0 means as much as the server gives. */
function decodeLength(fields: OptionFields, otherwise: number, limits: ControlLimits): number {
  const requested = fields.n_predict ?? fields.max_tokens ?? fields.max_completion_tokens;
  if (requested === undefined) return otherwise;
  return requested === 0 ? 0 : limitTokens(requested, limits);
}

/** A sampler under its native name wins over the name of this dialect. */
function decodeSampling(fields: OptionFields, native: Controls, sampling: Sampling, contextSize: number): Sampling {
  const range = native.rep_pen_range === undefined ? fields.repeat_last_n : undefined;
  const changed: Sampling = {
    ...sampling,
    ...penaltyRange(range, contextSize),
    ...(fields.dry_penalty_last_n === 0 ? { dryMultiplier: 0 } : {}),
    ...(native.sampler_seed === undefined ? decodeSeed(fields.seed) : {}),
  };
  return withSamplers(changed, fields.samplers);
}

function decodeSeed(seed: number | undefined): Partial<Sampling> {
  if (seed === undefined) return {};
  if (seed < 0 || seed >= anySeed) return { seed: -1 };
  return { seed: seed === 0 ? seedForZero : seed };
}

/** `explicit` is the grammar of `grammar`; `json_schema` beside it is a contradiction. */
export function decodeGrammar(
  fields: Pick<OptionFields, 'json_schema' | 'grammar_lazy' | 'grammar_triggers'>,
  explicit: Grammar | undefined,
  schemaToGrammar: SchemaToGrammar,
): Grammar | undefined {
  const { json_schema: schema, grammar_lazy: lazy } = fields;
  if (!isAbsent(schema) && explicit) throw wrong('json_schema', 'absent where there is a grammar');
  if (!isAbsent(schema) && !isObject(schema)) throw wrong('json_schema', 'a JSON schema');
  const grammar = schema ? { gbnf: grammarOf(schema, 'json_schema', schemaToGrammar), retainState: false } : explicit;
  return grammar && lazy ? { ...grammar, triggers: decodeTriggers(fields.grammar_triggers) } : grammar;
}

const types = { token: 0, word: 1, pattern: 2, wholePattern: 3 };
const triggerLimits = { count: 64, characters: 10_000, word: 900 };

/** The grammar begins at the first of these in the text, and covers it. */
export function decodeTriggers(value: unknown): readonly GrammarTrigger[] {
  const triggers = Array.isArray(value) ? value : [];
  if (triggers.length === 0) throw refusal('given where grammar_lazy is on');
  if (triggers.length > triggerLimits.count) throw refusal(`at most ${triggerLimits.count} triggers`);
  const texts = triggers.map((trigger) =>
    isObject(trigger) && typeof trigger.value === 'string' ? trigger.value : '',
  );
  if (texts.join('').length > triggerLimits.characters) {
    throw refusal(`triggers with at most ${triggerLimits.characters} characters together`);
  }
  return triggers.map(decodeTrigger);
}

function decodeTrigger(trigger: unknown): GrammarTrigger {
  if (!isObject(trigger)) throw refusal('an array of {"type", "value"}');
  if (trigger.type === types.token && Number.isInteger(trigger.token)) {
    return { type: 'token', token: trigger.token as number };
  }
  const { value: text } = trigger;
  if (typeof text !== 'string' || text === '') throw refusal('an array of {"type", "value"}, the value a text');
  if (trigger.type === types.pattern) return { type: 'pattern', source: checked(text, text) };
  if (trigger.type === types.wholePattern) return { type: 'pattern', source: checked(`^(?:${text})$`, text) };
  if (text.length > triggerLimits.word) throw refusal(`a word of at most ${triggerLimits.word} characters`);
  return { type: 'word', text };
}

/** Patterns are searched in linear time, which some features of other engines do not allow. */
function checked(pattern: string, source: string): string {
  try {
    // First as it was sent, for the position in the error.
    for (const each of [source, pattern]) compilePattern(each);
    return pattern;
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    const position = error.place === undefined ? '' : ` at character ${error.place}`;
    const excerpt = source.length > 100 ? `${source.slice(0, 100)}…` : source;
    throw refusal(`patterns that can be searched for, but in ${JSON.stringify(excerpt)}${position} ${error.message}`);
  }
}

function refusal(expected: string): AppError {
  return wrong('grammar_triggers', expected);
}
