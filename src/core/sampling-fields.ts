/**
 * Every numeric sampling control, once. Decoders, the docs, the API page and the web client's panel read this table;
 * the names of the fields on the wire are those of the native API, which every other family accepts too.
 */
export interface SamplingField {
  /** Names in requests; where several are sent the first one present wins, unless a decoder says otherwise. */
  readonly wire: readonly [string, ...string[]];
  readonly type: 'number' | 'integer';
  readonly default: number;
  /** Values outside are moved to the nearer end. */
  readonly min?: number;
  readonly max?: number;
  /** The setting at which the sampler does nothing, in words. */
  readonly off?: string;
  readonly group: 'temperature' | 'truncation' | 'repetition' | 'search' | 'seed';
  readonly text: string;
}

const field = <const Field extends SamplingField>(definition: Field): Field => definition;

export const samplingFields = {
  temperature: field({
    wire: ['temperature'],
    type: 'number',
    default: 0.7,
    min: 0,
    group: 'temperature',
    text: 'Higher is more surprising; 0 always takes the best token.',
  }),
  dynamicRange: field({
    wire: ['dynatemp_range'],
    type: 'number',
    default: 0,
    off: '0',
    group: 'temperature',
    text: 'How far the temperature may move with the entropy of the candidates.',
  }),
  dynamicExponent: field({
    wire: ['dynatemp_exponent'],
    type: 'number',
    default: 1,
    min: 0,
    group: 'temperature',
    text: 'The curve between the lower and the upper temperature.',
  }),
  smoothingFactor: field({
    wire: ['smoothing_factor'],
    type: 'number',
    default: 0,
    min: 0,
    off: '0',
    group: 'temperature',
    text: 'Quadratic smoothing of the logits.',
  }),
  smoothingCurve: field({
    wire: ['smoothing_curve'],
    type: 'number',
    default: 1,
    group: 'temperature',
    text: 'The cubic part of the smoothing.',
  }),
  nSigma: field({
    wire: ['nsigma', 'top_n_sigma'],
    type: 'number',
    default: 0,
    off: '0 or less',
    group: 'truncation',
    text: 'Keeps tokens within this many standard deviations of the best logit.',
  }),
  topK: field({
    wire: ['top_k'],
    type: 'integer',
    default: 100,
    off: '0 or less',
    group: 'truncation',
    text: 'Keeps this many of the best tokens.',
  }),
  topP: field({
    wire: ['top_p'],
    type: 'number',
    default: 0.9,
    off: '1 or more',
    group: 'truncation',
    text: 'Keeps the fewest best tokens whose probabilities reach this sum.',
  }),
  minP: field({
    wire: ['min_p'],
    type: 'number',
    default: 0,
    off: '0 or less',
    group: 'truncation',
    text: 'Keeps tokens at least this likely, relative to the best one.',
  }),
  topA: field({
    wire: ['top_a'],
    type: 'number',
    default: 0,
    off: '0 or less',
    group: 'truncation',
    text: 'Drops tokens below this times the square of the best probability.',
  }),
  typical: field({
    wire: ['typical', 'typical_p', 'typ_p'],
    type: 'number',
    default: 1,
    off: '1 or more',
    group: 'truncation',
    text: 'Locally typical sampling: keeps tokens whose surprise is near the expected one.',
  }),
  tailFree: field({
    wire: ['tfs', 'tfs_z'],
    type: 'number',
    default: 1,
    off: '1 or more',
    group: 'truncation',
    text: 'Tail-free sampling: cuts where the curve of probabilities flattens.',
  }),
  xtcThreshold: field({
    wire: ['xtc_threshold'],
    type: 'number',
    default: 0.2,
    off: 'above 0.5',
    group: 'truncation',
    text: 'Tokens at least this likely may be left out by XTC, all but the least likely of them.',
  }),
  xtcProbability: field({
    wire: ['xtc_probability'],
    type: 'number',
    default: 0,
    off: '0 or less',
    group: 'truncation',
    text: 'How often XTC leaves the top choices out.',
  }),
  repetitionPenalty: field({
    wire: ['rep_pen', 'repetition_penalty', 'repeat_penalty'],
    type: 'number',
    default: 1,
    off: '1',
    group: 'repetition',
    text: 'Makes tokens that were seen lately less likely.',
  }),
  repetitionRange: field({
    wire: ['rep_pen_range', 'repeat_last_n'],
    type: 'integer',
    default: 320,
    min: 1,
    group: 'repetition',
    text: 'How many tokens back the penalties look.',
  }),
  repetitionSlope: field({
    wire: ['rep_pen_slope'],
    type: 'number',
    default: 1,
    group: 'repetition',
    text: 'How much of the penalty the older half of the range gets.',
  }),
  presencePenalty: field({
    wire: ['presence_penalty'],
    type: 'number',
    default: 0,
    off: '0',
    group: 'repetition',
    text: 'Taken off the logit of every token seen in the range.',
  }),
  frequencyPenalty: field({
    wire: ['frequency_penalty'],
    type: 'number',
    default: 0,
    off: '0',
    group: 'repetition',
    text: 'Taken off the logit of a token for each time it was seen in the range.',
  }),
  dryMultiplier: field({
    wire: ['dry_multiplier'],
    type: 'number',
    default: 0,
    off: '0 or less',
    group: 'repetition',
    text: 'Strength of DRY, which punishes tokens that would go on with a repeated passage.',
  }),
  dryBase: field({
    wire: ['dry_base'],
    type: 'number',
    default: 1.75,
    off: '0 or less',
    group: 'repetition',
    text: 'How fast the DRY penalty grows with the length of the repetition.',
  }),
  dryAllowedLength: field({
    wire: ['dry_allowed_length'],
    type: 'integer',
    default: 2,
    group: 'repetition',
    text: 'Repetitions up to this length go unpunished.',
  }),
  dryRange: field({
    wire: ['dry_penalty_last_n'],
    type: 'integer',
    default: 320,
    off: '0 or less means the whole context',
    group: 'repetition',
    text: 'How many tokens back DRY looks.',
  }),
  mirostat: field({
    wire: ['mirostat', 'mirostat_mode'],
    type: 'integer',
    default: 0,
    off: 'neither 1 nor 2',
    group: 'search',
    text: 'Mirostat 1 or 2 steers the surprise of the text and replaces the other samplers.',
  }),
  mirostatTau: field({
    wire: ['mirostat_tau'],
    type: 'number',
    default: 5,
    group: 'search',
    text: 'The surprise that mirostat aims at.',
  }),
  mirostatEta: field({
    wire: ['mirostat_eta'],
    type: 'number',
    default: 0.1,
    group: 'search',
    text: 'How fast mirostat corrects itself.',
  }),
  adaptiveTarget: field({
    wire: ['adaptive_target'],
    type: 'number',
    default: -1,
    off: '0 or less',
    group: 'search',
    text: 'The probability that Adaptive-P likes its tokens to have.',
  }),
  adaptiveDecay: field({
    wire: ['adaptive_decay'],
    type: 'number',
    default: 0.9,
    min: 0.01,
    max: 0.99,
    group: 'search',
    text: 'How long Adaptive-P remembers what was chosen.',
  }),
  seed: field({
    wire: ['sampler_seed', 'seed'],
    type: 'integer',
    default: -1,
    off: '0 or less draws a fresh one',
    group: 'seed',
    text: 'The same seed and settings give the same text.',
  }),
} satisfies Record<string, SamplingField>;

export type SamplingName = keyof typeof samplingFields;

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
