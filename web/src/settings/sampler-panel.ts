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

export const panelGroups: readonly PanelGroup[] = Object.entries(titles).map(([group, title]) => ({
  group: group as SamplingField['group'],
  title,
  fields: Object.values<SamplingField>(samplingFields)
    .filter((field) => field.group === group)
    .map(panelField),
}));

function panelField(field: SamplingField): PanelField {
  const { type, text, off, default: usual, min = 0, max = 1, panel = {} } = field;
  const [wire] = field.wire;
  return {
    wire,
    label: panel.label ?? labelOf(wire),
    text,
    off,
    default: usual,
    min: Math.min(panel.min ?? min, usual),
    max: Math.max(panel.max ?? max, usual),
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
