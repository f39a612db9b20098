/**
 * Every numeric sampling control, declared once. The decoders of all dialects, the requests to remote backends, the
 * defaults of `--gendefaults`, the generated docs, the API page and the web client's panel read this table; only the
 * algorithms are in `sampling/`.
 */
export interface SamplingField {
  /** Names in requests of the native API, which every other dialect accepts too. The first one present wins. */
  readonly wire: readonly [string, ...string[]];
  /** All names count, and the highest value wins. */
  readonly highestWins?: true;
  /** Names in other APIs, for their dialects here and for remote backends that speak them. */
  readonly apis?: Readonly<Partial<Record<SamplerApi, string>>>;
  /** Sent to remote backends even at the default, because their own default may differ. */
  readonly alwaysSent?: true;
  readonly type: 'number' | 'integer';
  readonly default: number;
  /** Values outside are moved to the nearer end. */
  readonly min?: number;
  readonly max?: number;
  /** The values at which the sampler does nothing, in words. */
  readonly off?: string;
  /** Whether a value switches the sampler off. A backend without the sampler gives the same result for it. */
  readonly isOff?: (value: number) => boolean;
  /** Names of the controls in this table of which one must be on for this one to have an effect. */
  readonly partOf?: readonly string[];
  readonly group: 'temperature' | 'truncation' | 'repetition' | 'search' | 'seed';
  readonly text: string;
  readonly note?: string;
  /** Label and range of the slider in the web client. Default: made from the name, `min` or 0, `max` or 1. */
  readonly panel?: { readonly label?: string; readonly min?: number; readonly max?: number };
}

/**
 * `openai`: every server with the OpenAI API. `vllm`: also SGLang. `llamaCpp`: llama-server. These two have all that
 * `openai` has, under the same names. `native`: Parley and KoboldCpp, which have all samplers; only for names other
 * than the first of `wire`.
 */
export type SamplerApi = 'openai' | 'vllm' | 'llamaCpp' | 'ollama' | 'native';

const zero = { off: '0', isOff: (value: number) => value === 0 };
const zeroOrLess = { off: '0 or less', isOff: (value: number) => value <= 0 };
const oneOrMore = { off: '1 or more', isOff: (value: number) => value >= 1 };

type Options = Omit<SamplingField, 'wire' | 'type' | 'default' | 'group' | 'text'>;

/** Starts a row of one type with its names and default; `text` completes it. */
const row =
  <const Type extends SamplingField['type']>(type: Type) =>
  <const Wire extends SamplingField['wire'], const More extends Options>(wire: Wire, initial: number, more: More) => ({
    text: (text: string) => ({ wire, type, default: initial, ...more, text }),
  });

const number = row('number');
const integer = row('integer');

const group = <Rows extends Readonly<Record<string, Omit<SamplingField, 'group'>>>>(
  group: SamplingField['group'],
  rows: Rows,
) =>
  Object.fromEntries(Object.entries(rows).map(([name, row]) => [name, { ...row, group }])) as {
    readonly [Name in keyof Rows]: Rows[Name] & Pick<SamplingField, 'group'>;
  };

export const samplingFields = {
  ...group('temperature', {
    temperature: number(['temperature'], 0.7, {
      apis: { openai: 'temperature', ollama: 'temperature' },
      alwaysSent: true,
      min: 0,
      panel: { max: 2 },
    }).text('Higher is more surprising; 0 always takes the best token.'),
    dynamicRange: number(['dynatemp_range'], 0, {
      apis: { llamaCpp: 'dynatemp_range' },
      ...zero,
      panel: { label: 'Dynamic temperature range', max: 2 },
    }).text('How far the temperature may move with the entropy of the candidates.'),
    dynamicExponent: number(['dynatemp_exponent'], 1, {
      apis: { llamaCpp: 'dynatemp_exponent' },
      min: 0,
      partOf: ['dynamicRange'],
      panel: { label: 'Dynamic temperature exponent', max: 3 },
    }).text('The curve between the lower and the upper temperature.'),
    smoothingFactor: number(['smoothing_factor'], 0, { min: 0, ...zero, panel: { max: 5 } }).text(
      'Quadratic smoothing of the logits.',
    ),
    smoothingCurve: number(['smoothing_curve'], 1, { partOf: ['smoothingFactor'], panel: { min: 1, max: 5 } }).text(
      'The cubic part of the smoothing.',
    ),
  }),
  ...group('truncation', {
    nSigma: number(['nsigma', 'top_n_sigma'], 0, {
      apis: { llamaCpp: 'top_n_sigma' },
      ...zeroOrLess,
      panel: { label: 'Top n-sigma', max: 5 },
    }).text('Keeps tokens within this many standard deviations of the best logit.'),
    topK: integer(['top_k'], 100, {
      apis: { vllm: 'top_k', llamaCpp: 'top_k', ollama: 'top_k' },
      alwaysSent: true,
      ...zeroOrLess,
      panel: { label: 'Top-K', max: 200 },
    }).text('Keeps this many of the best tokens.'),
    topP: number(['top_p'], 0.9, {
      apis: { openai: 'top_p', ollama: 'top_p' },
      alwaysSent: true,
      ...oneOrMore,
      panel: { label: 'Top-P' },
    }).text('Keeps the fewest best tokens whose probabilities reach this sum.'),
    minP: number(['min_p'], 0, {
      apis: { vllm: 'min_p', llamaCpp: 'min_p', ollama: 'min_p' },
      alwaysSent: true,
      ...zeroOrLess,
      panel: { label: 'Min-P' },
    }).text('Keeps tokens at least this likely, relative to the best one.'),
    topA: number(['top_a'], 0, { ...zeroOrLess, panel: { label: 'Top-A' } }).text(
      'Drops tokens below this times the square of the best probability.',
    ),
    typical: number(['typical', 'typical_p', 'typ_p'], 1, {
      apis: { llamaCpp: 'typical_p', ollama: 'typical_p' },
      ...oneOrMore,
    }).text('Locally typical sampling: keeps tokens whose surprise is near the expected one.'),
    tailFree: number(['tfs', 'tfs_z'], 1, {
      apis: { ollama: 'tfs_z' },
      ...oneOrMore,
      panel: { label: 'Tail-free' },
    }).text('Tail-free sampling: cuts where the curve of probabilities flattens.'),
    xtcThreshold: number(['xtc_threshold'], 0.2, {
      apis: { llamaCpp: 'xtc_threshold' },
      off: 'above 0.5',
      partOf: ['xtcProbability'],
      panel: { label: 'XTC threshold', max: 0.5 },
    }).text('Tokens at least this likely may be left out by XTC, all but the least likely of them.'),
    xtcProbability: number(['xtc_probability'], 0, {
      apis: { llamaCpp: 'xtc_probability' },
      ...zeroOrLess,
      panel: { label: 'XTC probability' },
    }).text('How often XTC leaves the top choices out.'),
  }),
  ...group('repetition', {
    repetitionPenalty: number(['rep_pen', 'repetition_penalty', 'repeat_penalty'], 1, {
      highestWins: true,
      apis: { vllm: 'repetition_penalty', llamaCpp: 'repeat_penalty', ollama: 'repeat_penalty' },
      off: '1',
      isOff: (value: number) => value === 1,
      note: 'the strongest of its three names counts',
      panel: { label: 'Repetition penalty', min: 1, max: 2 },
    }).text('Makes tokens that were seen lately less likely.'),
    repetitionRange: integer(['rep_pen_range', 'repeat_last_n'], 320, {
      apis: { llamaCpp: 'repeat_last_n', ollama: 'repeat_last_n' },
      min: 1,
      partOf: ['repetitionPenalty', 'presencePenalty', 'frequencyPenalty'],
      note: 'less than 1 counts as 1',
      panel: { label: 'Repetition range', max: 4096 },
    }).text('How many tokens back the penalties look.'),
    repetitionSlope: number(['rep_pen_slope'], 1, {
      partOf: ['repetitionPenalty'],
      note: 'outside of 0 to 1 it counts as 1',
      panel: { label: 'Repetition slope', max: 10 },
    }).text('How much of the penalty the older half of the range gets.'),
    presencePenalty: number(['presence_penalty'], 0, {
      apis: { openai: 'presence_penalty', ollama: 'presence_penalty' },
      ...zero,
      panel: { min: -2, max: 2 },
    }).text('Taken off the logit of every token seen in the range.'),
    frequencyPenalty: number(['frequency_penalty'], 0, {
      apis: { openai: 'frequency_penalty', ollama: 'frequency_penalty' },
      ...zero,
      note: 'ours: taken off for each time a token was seen',
      panel: { min: -2, max: 2 },
    }).text('Taken off the logit of a token for each time it was seen in the range.'),
    dryMultiplier: number(['dry_multiplier'], 0, {
      apis: { llamaCpp: 'dry_multiplier' },
      ...zeroOrLess,
      panel: { label: 'DRY multiplier', max: 5 },
    }).text('Strength of DRY, which punishes tokens that would go on with a repeated passage.'),
    dryBase: number(['dry_base'], 1.75, {
      apis: { llamaCpp: 'dry_base' },
      off: '0 or less',
      partOf: ['dryMultiplier'],
      panel: { label: 'DRY base', max: 4 },
    }).text('How fast the DRY penalty grows with the length of the repetition.'),
    dryAllowedLength: integer(['dry_allowed_length'], 2, {
      apis: { llamaCpp: 'dry_allowed_length' },
      partOf: ['dryMultiplier'],
      panel: { label: 'DRY allowed length', max: 20 },
    }).text('Repetitions up to this length go unpunished.'),
    dryRange: integer(['dry_penalty_last_n'], 320, {
      apis: { llamaCpp: 'dry_penalty_last_n' },
      off: '0 or less means the whole context',
      partOf: ['dryMultiplier'],
      panel: { label: 'DRY range', max: 4096 },
    }).text('How many tokens back DRY looks.'),
  }),
  ...group('search', {
    mirostat: integer(['mirostat', 'mirostat_mode'], 0, {
      apis: { llamaCpp: 'mirostat', ollama: 'mirostat' },
      off: 'neither 1 nor 2',
      isOff: (value: number) => value !== 1 && value !== 2,
      panel: { max: 2 },
    }).text('Mirostat 1 or 2 steers the surprise of the text and replaces the other samplers.'),
    mirostatTau: number(['mirostat_tau'], 5, {
      apis: { llamaCpp: 'mirostat_tau', ollama: 'mirostat_tau' },
      partOf: ['mirostat'],
      panel: { max: 10 },
    }).text('The surprise that mirostat aims at.'),
    mirostatEta: number(['mirostat_eta'], 0.1, {
      apis: { llamaCpp: 'mirostat_eta', ollama: 'mirostat_eta' },
      partOf: ['mirostat'],
      panel: { max: 1 },
    }).text('How fast mirostat corrects itself.'),
    adaptiveTarget: number(['adaptive_target'], -1, {
      apis: { llamaCpp: 'adaptive_target' },
      ...zeroOrLess,
      note: 'without min_p and top_p, min_p becomes 0.002',
      panel: { label: 'Adaptive-P target', min: -1, max: 1 },
    }).text('The probability that Adaptive-P likes its tokens to have.'),
    adaptiveDecay: number(['adaptive_decay'], 0.9, {
      apis: { llamaCpp: 'adaptive_decay' },
      min: 0.01,
      max: 0.99,
      partOf: ['adaptiveTarget'],
      panel: { label: 'Adaptive-P decay' },
    }).text('How long Adaptive-P remembers what was chosen.'),
  }),
  ...group('seed', {
    seed: integer(['sampler_seed', 'seed'], -1, {
      apis: { openai: 'seed', ollama: 'seed', native: 'seed' },
      off: '0 or less draws a fresh one',
      isOff: (value: number) => value <= 0,
      note: '0 or less draws one, which /api/extra/perf tells',
      panel: { label: 'Seed', min: -1, max: 2_147_483_647 },
    }).text('The same seed and settings give the same text.'),
  }),
} satisfies Record<string, SamplingField>;

export type SamplingName = keyof typeof samplingFields;
export const samplingNames = Object.keys(samplingFields) as readonly SamplingName[];

/** The samplers that an API has, with their names there. */
export function samplersOfApi(api: SamplerApi): Readonly<Partial<Record<SamplingName, string>>> {
  const entries = samplingNames.map((name): [SamplingName, string | undefined] => {
    const { apis = {}, wire }: SamplingField = samplingFields[name];
    const inherited = api === 'native' ? wire[0] : api === 'ollama' ? undefined : apis.openai;
    return [name, apis[api] ?? inherited];
  });
  return Object.fromEntries(entries.filter(([, field]) => field !== undefined));
}

/** Whether a value has an effect that a server without this sampler would not give. */
export function isRequested(name: SamplingName, sampling: Sampling): boolean {
  const { default: initial, isOff, partOf }: SamplingField = samplingFields[name];
  const value = sampling[name];
  if (value === initial || isOff?.(value)) return false;
  return partOf?.some((owner) => isOn(owner as SamplingName, sampling)) ?? true;
}

const isOn = (name: SamplingName, sampling: Sampling): boolean =>
  !(samplingFields[name] as SamplingField).isOff?.(sampling[name]);

/** The stages of the chain by their number on the wire; temperature includes smoothing and n-sigma. */
export const samplerStages = ['top-k', 'top-a', 'top-p', 'tail-free', 'typical', 'temperature', 'repetition'] as const;
export type SamplerStage = (typeof samplerStages)[number];
export const defaultSamplerOrder: readonly SamplerStage[] = [6, 0, 1, 3, 4, 2, 5].map(
  (stage) => samplerStages[stage] as SamplerStage,
);

export type Sampling = { readonly [Name in SamplingName]: number } & {
  readonly order: readonly SamplerStage[];
  readonly dryBreakers: readonly string[];
};

export const defaultSampling: Sampling = {
  ...(Object.fromEntries(Object.entries(samplingFields).map(([name, { default: value }]) => [name, value])) as {
    [Name in SamplingName]: number;
  }),
  order: defaultSamplerOrder,
  dryBreakers: [],
};

/** The longest prefix of a text that fits into this many bytes of UTF-8, without cutting a character. */
export function cutToBytes(text: string, maxBytes: number): string {
  return text.slice(0, new TextEncoder().encodeInto(text, new Uint8Array(maxBytes)).read);
}

const largestSeed = 2 ** 32 - 1;

/** The request for one of several replies: a fixed seed is counted up, so that they differ. */
export function withReplySeed<Request extends { readonly sampling: Sampling }>(
  request: Request,
  reply: number,
): Request {
  const { sampling } = request;
  if (reply === 0 || sampling.seed <= 0) return request;
  return { ...request, sampling: { ...sampling, seed: ((sampling.seed - 1 + reply) % largestSeed) + 1 } };
}
