import type { GenerationControls } from '../../core/request.ts';
import type { Sampling } from '../../core/sampling-fields.ts';
import type { JsonObject } from '../../http/body.ts';
import { limitTokens, readControls } from '../controls/decode.ts';
import type { Controls } from '../controls/table.ts';
import { type DialectParts, dialectControls } from '../dialect.ts';
import type { OptionFields } from './fields.ts';
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

/** The seed that this dialect sends for "any". */
const anySeed = 2 ** 32 - 1;
/** Our engine draws a fresh seed for 0, which is a seed like any other here; this one stands for it. */
const seedForZero = 2 ** 31;

/** The seed that was used, as the client would send it to get the same text again. */
export function spokenSeed(seed: number): number {
  return seed === seedForZero ? 0 : seed;
}

/** Everything but the prompt, which differs between the endpoints, and the biases, which need the tokenizer. */
export function decodeOptions(fields: OptionFields, body: JsonObject, parts: DialectParts): CompletionOptions {
  // The form of the bias is this dialect's own: the native reader would refuse it.
  const native = readControls({ ...body, logit_bias: null });
  const controls = dialectControls(native, parts);
  const { schemaToGrammar, contextSize } = parts.controlParts();
  const alternatives = Math.max(0, fields.n_probs ?? fields.logprobs ?? 0);
  return {
    controls: {
      ...controls,
      maxTokens: decodeLength(fields, controls.maxTokens, parts),
      sampling: decodeSampling(fields, native, { sampling: controls.sampling, contextSize }),
      stop: fields.stop ?? controls.stop,
      grammar: decodeGrammar(fields, controls.grammar, schemaToGrammar),
      endTokens: fields.ignore_eos ? 'ban' : controls.endTokens,
      // The numbers of the tokens come with their probabilities.
      logprobs: alternatives > 0 ? alternatives : fields.return_tokens ? 0 : undefined,
    },
    output: {
      stream: fields.stream,
      timingsPerToken: fields.timings_per_token,
      postSampling: fields.post_sampling_probs,
      alternatives,
      returnTokens: fields.return_tokens,
      progress: fields.return_progress,
      fields: fields.response_fields,
    },
    earlyStop: { leastIndent: Math.max(0, fields.n_indent), milliseconds: Math.max(0, fields.t_max_predict_ms) },
    count: fields.n_cmpl ?? fields.n ?? 1,
  };
}

/** With 0 the prompt is only read into the cache; less than 0 means as much as the server gives. */
function decodeLength(fields: OptionFields, otherwise: number, parts: DialectParts): number {
  const asked = fields.n_predict ?? fields.max_tokens ?? fields.max_completion_tokens;
  if (asked === undefined) return otherwise;
  return asked === 0 ? 0 : limitTokens(asked, parts.controlParts());
}

/** What the two families both have, and say in different ways; a name that only the native one has wins. */
function decodeSampling(
  fields: OptionFields,
  native: Controls,
  { sampling, contextSize }: { readonly sampling: Sampling; readonly contextSize: number },
): Sampling {
  const range = native.rep_pen_range === undefined ? fields.repeat_last_n : undefined;
  const changed: Sampling = {
    ...sampling,
    ...(range === undefined ? {} : penaltyRange(range, contextSize)),
    ...(fields.dry_penalty_last_n === 0 ? { dryMultiplier: 0 } : {}),
    ...(native.sampler_seed === undefined ? decodeSeed(fields.seed) : {}),
  };
  return withSamplers(changed, fields.samplers);
}

function penaltyRange(range: number, contextSize: number): Partial<Sampling> {
  if (range === 0) return { repetitionPenalty: 1, presencePenalty: 0, frequencyPenalty: 0 };
  return { repetitionRange: range < 0 ? contextSize : range };
}

function decodeSeed(seed: number | undefined): Partial<Sampling> {
  if (seed === undefined) return {};
  if (seed < 0 || seed >= anySeed) return { seed: -1 };
  return { seed: seed === 0 ? seedForZero : seed };
}
