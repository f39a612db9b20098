import { type SamplingField, samplingFields } from '../../../src/core/sampling-fields.ts';

/** A control of the panel, made from the table that the server itself decodes with. */
export interface PanelField {
  /** As it is sent. */
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
  truncation: 'Which tokens may come',
  repetition: 'Against repetition',
  search: 'Other ways to choose',
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
    label: panel.label ?? inWords(wire),
    text,
    off,
    default: usual,
    min: Math.min(panel.min ?? min, usual),
    max: Math.max(panel.max ?? max, usual),
    step: type === 'integer' ? 1 : 0.01,
  };
}

function inWords(wire: string): string {
  const words = wire.replaceAll('_', ' ');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

export interface Preset {
  readonly name: string;
  readonly text: string;
  readonly sampling: Readonly<Record<string, number>>;
}

export const presets: readonly Preset[] = [
  { name: 'Default', text: 'What the server does unasked.', sampling: {} },
  {
    name: 'Precise',
    text: 'Nearly the same each time; for facts and code.',
    sampling: { temperature: 0.2, top_p: 0.9, top_k: 40 },
  },
  {
    name: 'Balanced',
    text: 'Min-P alone keeps the nonsense out.',
    sampling: { temperature: 1, top_p: 1, top_k: 0, min_p: 0.06 },
  },
  {
    name: 'Creative',
    text: 'Warm, with rare words and without loops.',
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
    text: 'For models that go in circles.',
    sampling: { rep_pen: 1.08, rep_pen_range: 1024, dry_multiplier: 0.8 },
  },
  { name: 'Always the best token', text: 'The same text each time.', sampling: { temperature: 0 } },
];
