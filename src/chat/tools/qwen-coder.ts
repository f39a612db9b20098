import { BlockReader, blockFormat } from './block-reader.ts';
import type { ToolFormat } from './format.ts';
import { TaggedBody, type TaggedBodyShape } from './tagged-body.ts';

const shape: TaggedBodyShape = {
  header: /^\s*([^\s<>]+)>/,
  parameter: /^\s*<parameter=([^>]+)>([\s\S]*?)<\/parameter>/,
  begun: /^\s*<parameter=([^>]+)>([\s\S]*)$/,
  trimValue: (value) => value.replace(/^\n/, '').replace(/\n$/, ''),
};

const format = blockFormat(
  {
    open: ['<function='],
    close: ['</function>'],
    dropped: ['<tool_call>', '</tool_call>', '<seed:tool_call>', '</seed:tool_call>'],
  },
  (writer, { tools }) => new TaggedBody(writer, shape, tools),
);

/** Qwen3-Coder and Seed-OSS: `<tool_call><function=name><parameter=key>value</parameter></function></tool_call>`. */
export const qwenCoder: ToolFormat = {
  name: 'qwen-coder',
  detect: (template) => template.includes('<function=') && template.includes('<parameter='),
  create: (options) => new BlockReader(format, options),
};
