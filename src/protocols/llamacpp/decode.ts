import { AppError } from '../../core/errors.ts';
import type { GenerationControls } from '../../core/request.ts';
import type { Sampling } from '../../core/sampling-fields.ts';
import type { JsonObject } from '../../http/body.ts';
import { limitTokens } from '../controls/decode.ts';
import { isAbsent, readFlag } from '../controls/fields.ts';
import { readStop } from '../controls/table.ts';
import { type DialectParts, dialectControls } from '../dialect.ts';
import { optionalInteger, optionalNumber } from './fields.ts';
import { decodeGrammar } from './grammar.ts';
import { withSamplers } from './samplers.ts';
import type { SettingsView } from './settings.ts';

/** How the reply is told. */
export interface OutputOptions extends SettingsView {
  /** How many alternatives to show for each token; 0 shows none. */
  readonly alternatives: number;
  readonly returnTokens: boolean;
  readonly progress: boolean;
  /** Only these fields of the last object; `a/b` is what stands in `a` under `b`. */
  readonly fields: readonly string[];
}

/** Ends a text earlier than its length: what editors want of a completion in the middle of code. */
export interface EarlyStop {
  /** Lines after the first must be indented at least so far; 0 does not look. */
  readonly leastIndent: number;
  /** Time since the first token after which the first whole line is enough; 0 means any. */
  readonly milliseconds: number;
}

export interface CompletionOptions {
  readonly controls: GenerationControls;
  readonly output: OutputOptions;
  readonly earlyStop: EarlyStop;
  /** How many replies to each prompt. */
  readonly count: number;
}

const mostReplies = 32;

/** The seed that this dialect sends for "any". */
const anySeed = 2 ** 32 - 1;
/** Our engine draws a fresh seed for 0, which is a seed like any other here; this one stands for it. */
const seedForZero = 2 ** 31;

/** The seed that was used, as the client would send it to get the same text again. */
export function spokenSeed(seed: number): number {
  return seed === seedForZero ? 0 : seed;
}

/** Fields of this dialect that must be numbers where they are there; the names of the native family stay lenient. */
const numberFields = [
  'temperature',
  'dynatemp_range',
  'dynatemp_exponent',
  'top_k',
  'top_p',
  'min_p',
  'top_n_sigma',
  'xtc_probability',
  'xtc_threshold',
  'typical_p',
  'typ_p',
  'repeat_penalty',
  'repeat_last_n',
  'presence_penalty',
  'frequency_penalty',
  'dry_multiplier',
  'dry_base',
  'dry_allowed_length',
  'dry_penalty_last_n',
  'mirostat',
  'mirostat_tau',
  'mirostat_eta',
  'adaptive_target',
  'adaptive_decay',
  'seed',
];

/** Everything but the prompt, which differs between the endpoints, and `logit_bias`, which needs the tokenizer. */
export function decodeOptions(body: JsonObject, parts: DialectParts): CompletionOptions {
  for (const field of numberFields) optionalNumber(body, field);
  refuseLora(body);
  // The form of the bias is this dialect's own: the native reader would refuse it.
  const controls = dialectControls({ ...body, logit_bias: null }, parts);
  const { schemaToGrammar, contextSize } = parts.controlParts();
  const length = optionalInteger(body, lengthField(body));
  const alternatives = Math.max(0, decodeAlternatives(body) ?? 0);
  const returnTokens = readFlag(body, 'return_tokens', false);
  return {
    controls: {
      ...controls,
      maxTokens: decodeLength(length, controls.maxTokens, parts),
      sampling: decodeSampling(body, controls.sampling, contextSize),
      stop: isAbsent(body.stop) ? controls.stop : readStop(body.stop, 'stop'),
      grammar: decodeGrammar(body, controls.grammar, schemaToGrammar),
      endTokens: readFlag(body, 'ignore_eos', false) ? 'ban' : controls.endTokens,
      // The numbers of the tokens come with their probabilities.
      logprobs: alternatives > 0 ? alternatives : returnTokens ? 0 : undefined,
    },
    output: {
      stream: readFlag(body, 'stream', false),
      timingsPerToken: readFlag(body, 'timings_per_token', false),
      postSampling: readFlag(body, 'post_sampling_probs', false),
      alternatives,
      returnTokens,
      progress: readFlag(body, 'return_progress', false),
      fields: decodeFields(body.response_fields),
    },
    earlyStop: {
      leastIndent: Math.max(0, optionalInteger(body, 'n_indent') ?? 0),
      milliseconds: Math.max(0, optionalNumber(body, 't_max_predict_ms') ?? 0),
    },
    count: decodeCount(body),
  };
}

function lengthField(body: JsonObject): string {
  return ['n_predict', 'max_tokens', 'max_completion_tokens'].find((name) => !isAbsent(body[name])) ?? 'n_predict';
}

/** With 0 the prompt is only read into the cache; less than 0 means as much as the server gives. */
function decodeLength(asked: number | undefined, otherwise: number, parts: DialectParts): number {
  if (asked === undefined) return otherwise;
  return asked === 0 ? 0 : limitTokens(asked, parts.controlParts());
}

/** `logprobs` is a number here, and a switch in the native family. */
function decodeAlternatives(body: JsonObject): number | undefined {
  const field = isAbsent(body.n_probs) ? 'logprobs' : 'n_probs';
  if (body[field] === true) return 10;
  return body[field] === false ? 0 : optionalInteger(body, field);
}

function decodeSampling(body: JsonObject, sampling: Sampling, contextSize: number): Sampling {
  const range = isAbsent(body.rep_pen_range) ? optionalInteger(body, 'repeat_last_n') : undefined;
  const changed: Sampling = {
    ...sampling,
    ...(range === undefined ? {} : penaltyRange(range, contextSize)),
    ...(body.dry_penalty_last_n === 0 ? { dryMultiplier: 0 } : {}),
    ...decodeSeed(body),
  };
  return withSamplers(changed, body.samplers);
}

function penaltyRange(range: number, contextSize: number): Partial<Sampling> {
  if (range === 0) return { repetitionPenalty: 1, presencePenalty: 0, frequencyPenalty: 0 };
  return { repetitionRange: range < 0 ? contextSize : range };
}

function decodeSeed(body: JsonObject): Partial<Sampling> {
  if (!isAbsent(body.sampler_seed) || isAbsent(body.seed)) return {};
  const seed = optionalInteger(body, 'seed') ?? -1;
  if (seed < 0 || seed >= anySeed) return { seed: -1 };
  return { seed: seed === 0 ? seedForZero : seed };
}

function decodeFields(value: unknown): readonly string[] {
  if (isAbsent(value)) return [];
  if (Array.isArray(value) && value.every((entry) => typeof entry === 'string')) return value;
  throw new AppError('invalid-field', { field: 'response_fields', expected: 'an array of strings' });
}

function decodeCount(body: JsonObject): number {
  const field = isAbsent(body.n_cmpl) ? 'n' : 'n_cmpl';
  const count = optionalInteger(body, field) ?? 1;
  if (count >= 1 && count <= mostReplies) return count;
  throw new AppError('invalid-field', { field, expected: `a number from 1 to ${mostReplies}` });
}

function refuseLora({ lora }: JsonObject): void {
  if (isAbsent(lora) || (Array.isArray(lora) && lora.length === 0)) return;
  throw new AppError('unsupported', {
    feature: 'lora in a request',
    instead: 'adapters are chosen at the start of the server, with --lora FILE and --loramult FACTOR',
  });
}
