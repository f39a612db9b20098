import { BlockReader, blockFormat } from './block-reader.ts';
import type { ToolFormat } from './format.ts';
import { JsonBody } from './json-body.ts';
import { jsonCalls } from './json-call.ts';

const format = blockFormat(
  { open: ['<|tool_call|>'], close: [], dropped: [] },
  (writer) => new JsonBody(writer, jsonCalls),
);

/** Granite 3: `<|tool_call|>[{"name": …, "arguments": {…}}, …]` to the end of the reply. */
export const granite: ToolFormat = {
  name: 'granite',
  detect: (template) => template.includes('<|tool_call|>'),
  create: (options) => new BlockReader(format, options),
};
