import { defaultSamplerOrder, type SamplerStage, samplerStages } from '../../core/sampling-fields.ts';
import { looseWhole } from '../fields/loose.ts';
import { described, type Read, wrong } from '../fields/readers.ts';

/** The stages by their numbers; a list that cannot be an order is none at all, a number that is no stage is left out. */
export const readOrder: Read<readonly SamplerStage[]> = described(
  {
    type: 'array',
    items: { type: 'integer', minimum: 0, maximum: samplerStages.length - 1 },
    maxItems: samplerStages.length,
  },
  (value, path) => {
    if (!Array.isArray(value)) throw wrong(path, 'an array of sampler numbers');
    if (value.length === 0 || value.length > samplerStages.length) return defaultSamplerOrder;
    return value.flatMap((stage) => samplerStages[looseWhole(stage, path)] ?? []);
  },
);
