import { BlockReader, blockFormat } from './block-reader.ts';
import type { ToolFormat } from './format.ts';
import { TaggedBody, type TaggedBodyShape } from './tagged-body.ts';

const shape: TaggedBodyShape = {
  header: /^\s*([\w.:-]+)\s*(?:\n|(?=<arg_key>))/,
  parameter: /^\s*<arg_key>\s*([\s\S]*?)\s*<\/arg_key>\s*<arg_value>([\s\S]*?)<\/arg_value>/,
  begun: /^\s*<arg_key>\s*([\s\S]*?)\s*<\/arg_key>\s*<arg_value>([\s\S]*)$/,
  trimValue: (value) => value,
};

const format = blockFormat(
  { open: ['<tool_call>'], close: ['</tool_call>'], dropped: [] },
  (writer, { tools }) => new TaggedBody(writer, shape, tools),
);

/** GLM 4.5 and later: `<tool_call>name`, then `<arg_key>…</arg_key><arg_value>…</arg_value>` per argument. */
export const glm: ToolFormat = {
  name: 'glm',
  detect: (template) => template.includes('<arg_key>'),
  create: (options) => new BlockReader(format, options),
};
