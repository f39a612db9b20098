import { BareReader } from './bare-reader.ts';
import type { ToolFormat } from './format.ts';

/** For templates that say nothing of calls: a reply that is a call in JSON, with or without a fence around it. */
export const generic: ToolFormat = {
  name: 'generic',
  detect: () => true,
  create: (options) => new BareReader(['```json\n', '```\n'], options),
};
