import {
  type SamplingField,
  type SamplingName,
  samplingFields,
  samplingNames,
} from '../../../src/core/sampling-fields.ts';
import type { Preset } from './presets.ts';
import { texts as samplerTexts } from './sampler-texts.ts';
import { texts } from './texts.ts';

/** A sampler control, from the same table that the server decodes with. */
export interface PanelField {
  /** Field name in requests. */
  readonly wire: string;
  readonly label: string;
  readonly text: string;
  /** The values at which the sampler does nothing, in words; empty if there are none. */
  readonly off: string;
  readonly isOff: (value: number) => boolean;
  /** Controls of which one must be on for this one to have an effect. */
  readonly partOf: readonly string[];
  readonly default: number;
  readonly min: number;
  readonly max: number;
  readonly step: number;
}

interface PanelGroup {
  readonly group: SamplingField['group'];
  readonly title: string;
  readonly fields: readonly PanelField[];
}

export const panelGroups: readonly PanelGroup[] = Object.entries(texts.samplers.groups).map(([group, title]) => ({
  group: group as SamplingField['group'],
  title,
  fields: samplingNames.filter((name) => samplingFields[name].group === group).map(panelField),
}));

const fields: ReadonlyMap<string, PanelField> = new Map(
  panelGroups.flatMap((group) => group.fields).map((field) => [field.wire, field]),
);

function panelField(name: SamplingName): PanelField {
  const field: SamplingField = samplingFields[name];
  const { type, isOff = () => false, partOf = [], default: initial, min = 0, max = 1, panel = {} } = field;
  const [wire] = field.wire;
  const table: Readonly<Record<string, SamplingField>> = samplingFields;
  return {
    wire,
    ...samplerTexts[name],
    isOff,
    partOf: partOf.flatMap((name) => table[name]?.wire[0] ?? []),
    default: initial,
    min: Math.min(panel.min ?? min, initial),
    max: Math.max(panel.max ?? max, initial),
    step: type === 'integer' ? 1 : 0.01,
  };
}

/** Labels of the controls that are all off, so that this one has no effect. */
export function missingOwners({ partOf }: PanelField, read: (wire: string) => number): readonly string[] {
  const owners = partOf.flatMap((wire) => fields.get(wire) ?? []);
  return owners.every((owner) => owner.isOff(read(owner.wire))) ? owners.map(({ label }) => label) : [];
}

interface BuiltInPreset extends Preset {
  readonly description: string;
}

function builtIn(name: keyof typeof texts.builtIn, sampling: Readonly<Record<string, number>>): BuiltInPreset {
  const [label, description] = texts.builtIn[name];
  // The default is chosen if no other is.
  const id = name === 'default' ? '' : `built-in-${name}`;
  return { id, name: label, description, changedAt: 0, samplers: { sampling, samplerOrder: [] } };
}

export const builtInPresets: readonly BuiltInPreset[] = [
  builtIn('default', {}),
  builtIn('precise', { temperature: 0.2, top_p: 0.9, top_k: 40 }),
  builtIn('balanced', { temperature: 1, top_p: 1, top_k: 0, min_p: 0.06 }),
  builtIn('creative', {
    temperature: 1.15,
    top_p: 1,
    top_k: 0,
    min_p: 0.03,
    xtc_probability: 0.5,
    xtc_threshold: 0.1,
    dry_multiplier: 0.8,
  }),
  builtIn('unrepeated', { rep_pen: 1.08, rep_pen_range: 1024, dry_multiplier: 0.8 }),
  builtIn('greedy', { temperature: 0 }),
];
