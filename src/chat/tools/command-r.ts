import { BlockReader, blockFormat } from './block-reader.ts';
import type { ToolFormat } from './format.ts';
import { JsonBody } from './json-body.ts';
import { jsonCalls } from './json-call.ts';

const format = blockFormat(
  {
    open: ['<|START_ACTION|>'],
    close: ['<|END_ACTION|>'],
    dropped: ['<|START_RESPONSE|>', '<|END_RESPONSE|>'],
  },
  (writer) => new JsonBody(writer, jsonCalls),
);

/** Command-R7B and Command-A: `<|START_ACTION|>[{"tool_call_id": …, "tool_name": …, "parameters": {…}}]<|END_ACTION|>`. */
export const commandR: ToolFormat = {
  name: 'command-r',
  detect: (template) => template.includes('<|START_ACTION|>'),
  create: (options) => new BlockReader(format, options),
};
