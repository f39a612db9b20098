import { type SamplingField, samplingFields } from '../../../src/core/sampling-fields.ts';

/** A sampler control, from the same table that the server decodes with. */
export interface PanelField {
  /** Field name in requests. */
  readonly wire: string;
  readonly label: string;
  readonly text: string;
  readonly off: string | undefined;
  readonly default: number;
  readonly min: number;
  readonly max: number;
  readonly step: number;
}

export interface PanelGroup {
  readonly group: SamplingField['group'];
  readonly title: string;
  readonly fields: readonly PanelField[];
}

const titles: Readonly<Record<SamplingField['group'], string>> = {
  temperature: 'Temperature',
  truncation: 'Truncation',
  repetition: 'Repetition penalties',
  search: 'Other samplers',
  seed: 'Seed',
};

/** Labels, where the field name is not clear enough, and slider ranges. The server accepts more. */
const shown: Readonly<Record<string, { readonly label?: string; readonly min?: number; readonly max?: number }>> = {
  temperature: { max: 2 },
  dynatemp_range: { label: 'Dynamic temperature range', max: 2 },
  dynatemp_exponent: { label: 'Dynamic temperature exponent', max: 3 },
  smoothing_factor: { max: 5 },
  smoothing_curve: { min: 1, max: 5 },
  nsigma: { label: 'Top n-sigma', max: 5 },
  top_k: { label: 'Top-K', max: 200 },
  top_p: { label: 'Top-P' },
  min_p: { label: 'Min-P' },
  top_a: { label: 'Top-A' },
  tfs: { label: 'Tail-free' },
  xtc_threshold: { label: 'XTC threshold', max: 0.5 },
  xtc_probability: { label: 'XTC probability' },
  rep_pen: { label: 'Repetition penalty', min: 1, max: 2 },
  rep_pen_range: { label: 'Repetition range', max: 4096 },
  rep_pen_slope: { label: 'Repetition slope', max: 10 },
  presence_penalty: { min: -2, max: 2 },
  frequency_penalty: { min: -2, max: 2 },
  dry_multiplier: { label: 'DRY multiplier', max: 5 },
  dry_base: { label: 'DRY base', max: 4 },
  dry_allowed_length: { label: 'DRY allowed length', max: 20 },
  dry_penalty_last_n: { label: 'DRY range', max: 4096 },
  mirostat: { max: 2 },
  mirostat_tau: { max: 10 },
  mirostat_eta: { max: 1 },
  adaptive_target: { label: 'Adaptive-P target', min: -1, max: 1 },
  adaptive_decay: { label: 'Adaptive-P decay' },
  sampler_seed: { label: 'Seed', min: -1, max: 2_147_483_647 },
};

export const panelGroups: readonly PanelGroup[] = Object.entries(titles).map(([group, title]) => ({
  group: group as SamplingField['group'],
  title,
  fields: Object.values<SamplingField>(samplingFields)
    .filter((field) => field.group === group)
    .map(panelField),
}));

function panelField({ wire: [wire], type, text, off, default: usual, min = 0, max = 1 }: SamplingField): PanelField {
  const look = shown[wire] ?? {};
  return {
    wire,
    label: look.label ?? labelOf(wire),
    text,
    off,
    default: usual,
    min: Math.min(look.min ?? min, usual),
    max: Math.max(look.max ?? max, usual),
    step: type === 'integer' ? 1 : 0.01,
  };
}

function labelOf(wire: string): string {
  const words = wire.replaceAll('_', ' ');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

export interface Preset {
  readonly name: string;
  readonly text: string;
  readonly sampling: Readonly<Record<string, number>>;
}

export const presets: readonly Preset[] = [
  { name: 'Default', text: 'Server defaults.', sampling: {} },
  {
    name: 'Precise',
    text: 'Low temperature, for facts and code.',
    sampling: { temperature: 0.2, top_p: 0.9, top_k: 40 },
  },
  {
    name: 'Balanced',
    text: 'Min-P only.',
    sampling: { temperature: 1, top_p: 1, top_k: 0, min_p: 0.06 },
  },
  {
    name: 'Creative',
    text: 'High temperature with XTC and DRY.',
    sampling: {
      temperature: 1.15,
      top_p: 1,
      top_k: 0,
      min_p: 0.03,
      xtc_probability: 0.5,
      xtc_threshold: 0.1,
      dry_multiplier: 0.8,
    },
  },
  {
    name: 'No repetition',
    text: 'For models that loop.',
    sampling: { rep_pen: 1.08, rep_pen_range: 1024, dry_multiplier: 0.8 },
  },
  { name: 'Greedy', text: 'Always the most likely token.', sampling: { temperature: 0 } },
];
