import { type SamplingField, type SamplingName, samplingFields } from '../../../src/core/sampling-fields.ts';
import { translatable } from '../languages/index.ts';

interface SamplerTexts {
  readonly label: string;
  readonly text: string;
  /** The values at which the sampler does nothing. */
  readonly off: string;
}

const english = Object.fromEntries(
  Object.entries<SamplingField>(samplingFields).map(([name, { wire, panel, text, off = '' }]) => [
    name,
    { label: panel?.label ?? labelOf(wire[0]), text, off },
  ]),
) as Readonly<Record<SamplingName, SamplerTexts>>;

function labelOf(wire: string): string {
  const words = wire.replaceAll('_', ' ');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

/** Those of the samplers. The English ones are in the table that the server decodes with. */
export const texts = translatable('samplers', english);
