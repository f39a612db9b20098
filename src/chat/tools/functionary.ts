import { BlockReader, blockFormat } from './block-reader.ts';
import type { ToolFormat } from './format.ts';
import { JsonBody } from './json-body.ts';

const header = /^\s*([\w.-]+)>\s*(?=\{)/;

const format = blockFormat(
  { open: ['<function='], close: ['</function>'], dropped: [] },
  (writer) => new JsonBody(writer, { header }),
);

/** Functionary 3.1 and Llama fine-tunes: `<function=name>{…}</function>`. */
export const functionary: ToolFormat = {
  name: 'functionary',
  detect: (template) => template.includes('<function='),
  create: (options) => new BlockReader(format, options),
};
