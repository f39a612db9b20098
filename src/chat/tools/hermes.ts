import { BlockReader, blockFormat } from './block-reader.ts';
import type { ToolFormat } from './format.ts';
import { JsonBody } from './json-body.ts';
import { jsonCalls } from './json-call.ts';

const format = blockFormat(
  { open: ['<tool_call>'], close: ['</tool_call>'], dropped: [] },
  (writer) => new JsonBody(writer, jsonCalls),
);

/** Hermes, Qwen 2.5 and 3, Granite 4 and many others: `<tool_call>{"name": …, "arguments": {…}}</tool_call>`. */
export const hermes: ToolFormat = {
  name: 'hermes',
  detect: (template) => template.includes('<tool_call>'),
  create: (options) => new BlockReader(format, options),
};
