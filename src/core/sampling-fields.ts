/**
 * Every numeric sampling control, declared once. The decoders of all dialects, the requests to remote backends, the
 * defaults of `--gendefaults`, the generated docs, the API page and the web client's panel read this table; only the
 * algorithm itself is elsewhere, in `sampling/`.
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
  /** Details for the docs. */
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

const field = <const Field extends SamplingField>(definition: Field): Field => definition;

export const samplingFields = {
  temperature: field({
    wire: ['temperature'],
    apis: { openai: 'temperature', ollama: 'temperature' },
    alwaysSent: true,
    type: 'number',
    default: 0.7,
    min: 0,
    group: 'temperature',
    text: 'Higher is more surprising; 0 always takes the best token.',
    panel: { max: 2 },
  }),
  dynamicRange: field({
    wire: ['dynatemp_range'],
    apis: { llamaCpp: 'dynatemp_range' },
    type: 'number',
    default: 0,
    ...zero,
    group: 'temperature',
    text: 'How far the temperature may move with the entropy of the candidates.',
    panel: { label: 'Dynamic temperature range', max: 2 },
  }),
  dynamicExponent: field({
    wire: ['dynatemp_exponent'],
    apis: { llamaCpp: 'dynatemp_exponent' },
    type: 'number',
    default: 1,
    min: 0,
    partOf: ['dynamicRange'],
    group: 'temperature',
    text: 'The curve between the lower and the upper temperature.',
    panel: { label: 'Dynamic temperature exponent', max: 3 },
  }),
  smoothingFactor: field({
    wire: ['smoothing_factor'],
    type: 'number',
    default: 0,
    min: 0,
    ...zero,
    group: 'temperature',
    text: 'Quadratic smoothing of the logits.',
    panel: { max: 5 },
  }),
  smoothingCurve: field({
    wire: ['smoothing_curve'],
    type: 'number',
    default: 1,
    partOf: ['smoothingFactor'],
    group: 'temperature',
    text: 'The cubic part of the smoothing.',
    panel: { min: 1, max: 5 },
  }),
  nSigma: field({
    wire: ['nsigma', 'top_n_sigma'],
    apis: { llamaCpp: 'top_n_sigma' },
    type: 'number',
    default: 0,
    ...zeroOrLess,
    group: 'truncation',
    text: 'Keeps tokens within this many standard deviations of the best logit.',
    panel: { label: 'Top n-sigma', max: 5 },
  }),
  topK: field({
    wire: ['top_k'],
    apis: { vllm: 'top_k', llamaCpp: 'top_k', ollama: 'top_k' },
    alwaysSent: true,
    type: 'integer',
    default: 100,
    ...zeroOrLess,
    group: 'truncation',
    text: 'Keeps this many of the best tokens.',
    panel: { label: 'Top-K', max: 200 },
  }),
  topP: field({
    wire: ['top_p'],
    apis: { openai: 'top_p', ollama: 'top_p' },
    alwaysSent: true,
    type: 'number',
    default: 0.9,
    ...oneOrMore,
    group: 'truncation',
    text: 'Keeps the fewest best tokens whose probabilities reach this sum.',
    panel: { label: 'Top-P' },
  }),
  minP: field({
    wire: ['min_p'],
    apis: { vllm: 'min_p', llamaCpp: 'min_p', ollama: 'min_p' },
    alwaysSent: true,
    type: 'number',
    default: 0,
    ...zeroOrLess,
    group: 'truncation',
    text: 'Keeps tokens at least this likely, relative to the best one.',
    panel: { label: 'Min-P' },
  }),
  topA: field({
    wire: ['top_a'],
    type: 'number',
    default: 0,
    ...zeroOrLess,
    group: 'truncation',
    text: 'Drops tokens below this times the square of the best probability.',
    panel: { label: 'Top-A' },
  }),
  typical: field({
    wire: ['typical', 'typical_p', 'typ_p'],
    apis: { llamaCpp: 'typical_p', ollama: 'typical_p' },
    type: 'number',
    default: 1,
    ...oneOrMore,
    group: 'truncation',
    text: 'Locally typical sampling: keeps tokens whose surprise is near the expected one.',
  }),
  tailFree: field({
    wire: ['tfs', 'tfs_z'],
    apis: { ollama: 'tfs_z' },
    type: 'number',
    default: 1,
    ...oneOrMore,
    group: 'truncation',
    text: 'Tail-free sampling: cuts where the curve of probabilities flattens.',
    panel: { label: 'Tail-free' },
  }),
  xtcThreshold: field({
    wire: ['xtc_threshold'],
    apis: { llamaCpp: 'xtc_threshold' },
    type: 'number',
    default: 0.2,
    off: 'above 0.5',
    partOf: ['xtcProbability'],
    group: 'truncation',
    text: 'Tokens at least this likely may be left out by XTC, all but the least likely of them.',
    panel: { label: 'XTC threshold', max: 0.5 },
  }),
  xtcProbability: field({
    wire: ['xtc_probability'],
    apis: { llamaCpp: 'xtc_probability' },
    type: 'number',
    default: 0,
    ...zeroOrLess,
    group: 'truncation',
    text: 'How often XTC leaves the top choices out.',
    panel: { label: 'XTC probability' },
  }),
  repetitionPenalty: field({
    wire: ['rep_pen', 'repetition_penalty', 'repeat_penalty'],
    highestWins: true,
    apis: { vllm: 'repetition_penalty', llamaCpp: 'repeat_penalty', ollama: 'repeat_penalty' },
    type: 'number',
    default: 1,
    off: '1',
    isOff: (value: number) => value === 1,
    group: 'repetition',
    text: 'Makes tokens that were seen lately less likely.',
    note: 'the strongest of its three names counts',
    panel: { label: 'Repetition penalty', min: 1, max: 2 },
  }),
  repetitionRange: field({
    wire: ['rep_pen_range', 'repeat_last_n'],
    apis: { llamaCpp: 'repeat_last_n', ollama: 'repeat_last_n' },
    type: 'integer',
    default: 320,
    min: 1,
    partOf: ['repetitionPenalty', 'presencePenalty', 'frequencyPenalty'],
    group: 'repetition',
    text: 'How many tokens back the penalties look.',
    note: 'less than 1 counts as 1',
    panel: { label: 'Repetition range', max: 4096 },
  }),
  repetitionSlope: field({
    wire: ['rep_pen_slope'],
    type: 'number',
    default: 1,
    partOf: ['repetitionPenalty'],
    group: 'repetition',
    text: 'How much of the penalty the older half of the range gets.',
    note: 'outside of 0 to 1 it counts as 1',
    panel: { label: 'Repetition slope', max: 10 },
  }),
  presencePenalty: field({
    wire: ['presence_penalty'],
    apis: { openai: 'presence_penalty', ollama: 'presence_penalty' },
    type: 'number',
    default: 0,
    ...zero,
    group: 'repetition',
    text: 'Taken off the logit of every token seen in the range.',
    panel: { min: -2, max: 2 },
  }),
  frequencyPenalty: field({
    wire: ['frequency_penalty'],
    apis: { openai: 'frequency_penalty', ollama: 'frequency_penalty' },
    type: 'number',
    default: 0,
    ...zero,
    group: 'repetition',
    text: 'Taken off the logit of a token for each time it was seen in the range.',
    note: 'ours: taken off for each time a token was seen',
    panel: { min: -2, max: 2 },
  }),
  dryMultiplier: field({
    wire: ['dry_multiplier'],
    apis: { llamaCpp: 'dry_multiplier' },
    type: 'number',
    default: 0,
    ...zeroOrLess,
    group: 'repetition',
    text: 'Strength of DRY, which punishes tokens that would go on with a repeated passage.',
    panel: { label: 'DRY multiplier', max: 5 },
  }),
  dryBase: field({
    wire: ['dry_base'],
    apis: { llamaCpp: 'dry_base' },
    type: 'number',
    default: 1.75,
    off: '0 or less',
    partOf: ['dryMultiplier'],
    group: 'repetition',
    text: 'How fast the DRY penalty grows with the length of the repetition.',
    panel: { label: 'DRY base', max: 4 },
  }),
  dryAllowedLength: field({
    wire: ['dry_allowed_length'],
    apis: { llamaCpp: 'dry_allowed_length' },
    type: 'integer',
    default: 2,
    partOf: ['dryMultiplier'],
    group: 'repetition',
    text: 'Repetitions up to this length go unpunished.',
    panel: { label: 'DRY allowed length', max: 20 },
  }),
  dryRange: field({
    wire: ['dry_penalty_last_n'],
    apis: { llamaCpp: 'dry_penalty_last_n' },
    type: 'integer',
    default: 320,
    off: '0 or less means the whole context',
    partOf: ['dryMultiplier'],
    group: 'repetition',
    text: 'How many tokens back DRY looks.',
    panel: { label: 'DRY range', max: 4096 },
  }),
  mirostat: field({
    wire: ['mirostat', 'mirostat_mode'],
    apis: { llamaCpp: 'mirostat', ollama: 'mirostat' },
    type: 'integer',
    default: 0,
    off: 'neither 1 nor 2',
    isOff: (value: number) => value !== 1 && value !== 2,
    group: 'search',
    text: 'Mirostat 1 or 2 steers the surprise of the text and replaces the other samplers.',
    panel: { max: 2 },
  }),
  mirostatTau: field({
    wire: ['mirostat_tau'],
    apis: { llamaCpp: 'mirostat_tau', ollama: 'mirostat_tau' },
    type: 'number',
    default: 5,
    partOf: ['mirostat'],
    group: 'search',
    text: 'The surprise that mirostat aims at.',
    panel: { max: 10 },
  }),
  mirostatEta: field({
    wire: ['mirostat_eta'],
    apis: { llamaCpp: 'mirostat_eta', ollama: 'mirostat_eta' },
    type: 'number',
    default: 0.1,
    partOf: ['mirostat'],
    group: 'search',
    text: 'How fast mirostat corrects itself.',
    panel: { max: 1 },
  }),
  adaptiveTarget: field({
    wire: ['adaptive_target'],
    apis: { llamaCpp: 'adaptive_target' },
    type: 'number',
    default: -1,
    ...zeroOrLess,
    group: 'search',
    text: 'The probability that Adaptive-P likes its tokens to have.',
    note: 'without min_p and top_p, min_p becomes 0.002',
    panel: { label: 'Adaptive-P target', min: -1, max: 1 },
  }),
  adaptiveDecay: field({
    wire: ['adaptive_decay'],
    apis: { llamaCpp: 'adaptive_decay' },
    type: 'number',
    default: 0.9,
    min: 0.01,
    max: 0.99,
    partOf: ['adaptiveTarget'],
    group: 'search',
    text: 'How long Adaptive-P remembers what was chosen.',
    panel: { label: 'Adaptive-P decay' },
  }),
  seed: field({
    wire: ['sampler_seed', 'seed'],
    apis: { openai: 'seed', ollama: 'seed', native: 'seed' },
    type: 'integer',
    default: -1,
    off: '0 or less draws a fresh one',
    isOff: (value: number) => value <= 0,
    group: 'seed',
    text: 'The same seed and settings give the same text.',
    note: '0 or less draws one, which /api/extra/perf tells',
    panel: { label: 'Seed', min: -1, max: 2_147_483_647 },
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
  const { default: usual, isOff, partOf }: SamplingField = samplingFields[name];
  const value = sampling[name];
  if (value === usual || isOff?.(value)) return false;
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

/** The longest beginning of a text that fits into so many bytes of UTF-8, without a part of a character. */
export function cutToBytes(text: string, most: number): string {
  return text.slice(0, new TextEncoder().encodeInto(text, new Uint8Array(most)).read);
}
