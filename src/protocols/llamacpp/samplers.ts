import type { GenerationControls } from '../../core/request.ts';
import { type SamplerStage, type Sampling, type SamplingName, samplersOfApi } from '../../core/sampling-fields.ts';
import type { TextService } from '../../core/text-service.ts';
import { biasSchema, described, isObject, limitedTexts, oneOrMoreTexts, type Read, wrong } from '../fields.ts';

interface SamplerName {
  readonly letter: string;
  /** With underscores; dashes are accepted too. */
  readonly names: readonly [string, ...string[]];
  /** Its stage in the ordered chain; the others always run at the same point. */
  readonly stage?: SamplerStage;
  /** The settings that switch it off when it is not in the list. */
  readonly off: Partial<Sampling>;
}

/** Two of the stages hold two samplers of this dialect each; then only the one that is named stays on. */
const known: readonly SamplerName[] = [
  { letter: 'e', names: ['penalties'], stage: 'repetition', off: {} },
  { letter: 'd', names: ['dry'], off: { dryMultiplier: 0 } },
  { letter: 'k', names: ['top_k'], stage: 'top-k', off: {} },
  { letter: 'y', names: ['typ_p', 'typical_p', 'typical', 'typ'], stage: 'typical', off: {} },
  { letter: 'p', names: ['top_p', 'nucleus'], stage: 'top-p', off: { topP: 1 } },
  { letter: 'm', names: ['min_p'], stage: 'top-p', off: { minP: 0 } },
  { letter: 'x', names: ['xtc'], off: { xtcProbability: 0 } },
  {
    letter: 't',
    names: ['temperature', 'temp'],
    stage: 'temperature',
    off: { temperature: 1, dynamicRange: 0, smoothingFactor: 0 },
  },
  { letter: 's', names: ['top_n_sigma'], stage: 'temperature', off: { nSigma: 0 } },
  { letter: 'a', names: ['adaptive_p'], off: { adaptiveTarget: -1 } },
];

/** Unknown names are ignored. */
export const readSamplers: Read<readonly SamplerName[]> = described(oneOrMoreTexts, (value, path) => {
  if (typeof value === 'string') return [...value].flatMap((one) => known.find(({ letter }) => letter === one) ?? []);
  if (Array.isArray(value) && value.every((entry) => typeof entry === 'string')) {
    return value.flatMap((one) => known.find(({ names }) => names.includes(one.replaceAll('-', '_'))) ?? []);
  }
  throw wrong(path, 'an array of names, or a text of letters');
});

/** The samplers that a request names, in its order and no others. */
export function withSamplers(sampling: Sampling, named: readonly SamplerName[] | undefined): Sampling {
  if (named === undefined) return sampling;
  const off = known.filter((sampler) => !named.includes(sampler)).map((sampler) => sampler.off);
  const order = [...new Set(named.flatMap(({ stage }) => stage ?? []))];
  return Object.assign({ ...sampling }, ...off, { order });
}

/** The names of the samplers in the order in which they run. */
export function samplerNames({ order }: Sampling): readonly string[] {
  const namesOf = (stage: SamplerStage) => known.filter((one) => one.stage === stage).map(({ names }) => names[0]);
  return ['dry', ...order.flatMap(namesOf), 'xtc'];
}

const samplers = Object.entries(samplersOfApi('llamaCpp')) as readonly (readonly [SamplingName, string])[];

type SettingsView = Partial<Record<'stream' | 'timingsPerToken' | 'postSampling', boolean>>;

/** The settings of a request by the names of this dialect: numbers and switches, none of its texts. */
export function settingsBody(controls: GenerationControls, view: SettingsView = {}): object {
  const { sampling } = controls;
  const settings: Record<string, unknown> = {};
  for (const [name, field] of samplers) settings[field] = sampling[name];
  return Object.assign(settings, {
    max_tokens: controls.maxTokens,
    n_predict: controls.maxTokens,
    n_keep: 0,
    n_discard: 0,
    ignore_eos: controls.endTokens === 'ban',
    stream: view.stream ?? false,
    n_probs: controls.logprobs ?? 0,
    min_keep: 0,
    chat_format: 'Content-only',
    reasoning_format: 'none',
    reasoning_in_content: false,
    generation_prompt: '',
    samplers: samplerNames(sampling),
    'speculative.types': 'none',
    timings_per_token: view.timingsPerToken ?? false,
    post_sampling_probs: view.postSampling ?? false,
    backend_sampling: false,
    lora: [],
  });
}

/** For the sender of the request: its texts too. */
export function ownSettingsBody(controls: GenerationControls, view: SettingsView): object {
  return {
    ...settingsBody(controls, view),
    dry_sequence_breakers: controls.sampling.dryBreakers,
    stop: controls.stop,
    logit_bias: controls.logitBias.map(([token, bias]) => ({ token, bias })),
    grammar: controls.grammar?.gbnf ?? '',
    grammar_lazy: controls.grammar?.triggers !== undefined,
  };
}

const limits = { entries: 10_000, texts: 512 };

/** For a token by its number, or for all tokens of a text; `false` bans. */
interface Bias {
  readonly target: number | string;
  readonly value: number | false;
}

/** `logit_bias` of this dialect: an array of pairs, or an object whose keys are numbers or texts. */
export const readLogitBias: Read<readonly Bias[]> = described(biasSchema, (value, path) => {
  const targetOf = (key: string) => (/^\d{1,9}$/.test(key) ? Number(key) : key);
  const pairs = isObject(value) ? Object.entries(value).map(([key, entry]) => [targetOf(key), entry]) : value;
  const refusal = () => wrong(path, 'pairs of a token number or a text with a number or false');
  if (!Array.isArray(pairs)) throw refusal();
  const biases = pairs.map((pair): Bias => {
    if (!Array.isArray(pair) || pair.length !== 2) throw refusal();
    const [target, bias] = pair;
    if ((typeof target !== 'string' && !Number.isInteger(target)) || !(bias === false || typeof bias === 'number')) {
      throw refusal();
    }
    return { target, value: bias };
  });
  // Each is added at every token of the reply, and each text needs the tokenizer.
  const texts = biases.flatMap(({ target }) => (typeof target === 'string' ? [target] : []));
  if (biases.length > limits.entries || texts.length > limits.texts) {
    throw wrong(path, `at most ${limits.entries} pairs, ${limits.texts} of them with a text`);
  }
  limitedTexts(path, texts);
  return biases;
});

export async function resolveBias(
  entries: readonly Bias[],
  text: TextService,
): Promise<Pick<GenerationControls, 'logitBias' | 'bannedTokens'>> {
  const logitBias = new Map<number, number>();
  const bannedTokens = new Set<number>();
  const biases = await Promise.all(
    entries.map(async ({ target, value }) => ({
      tokens: typeof target === 'number' ? [target] : await text.tokenize(target, { addSpecial: false }),
      value,
    })),
  );
  for (const { tokens, value } of biases) {
    for (const token of tokens) {
      if (value === false) bannedTokens.add(token);
      else logitBias.set(token, value);
    }
  }
  return { logitBias: [...logitBias], bannedTokens: [...bannedTokens] };
}
