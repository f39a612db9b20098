import { BlockReader, blockFormat } from './block-reader.ts';
import type { ToolFormat } from './format.ts';
import { TaggedBody, type TaggedBodyShape } from './tagged-body.ts';

const shape: TaggedBodyShape = {
  header: /^\s*"?([^\s<>"]+)"?\s*>/,
  parameter: /^\s*<parameter name="?([^">]+)"?\s*>([\s\S]*?)<\/parameter>/,
  begun: /^\s*<parameter name="?([^">]+)"?\s*>([\s\S]*)$/,
  trimValue: (value) => value,
};

const format = blockFormat(
  {
    open: ['<invoke name='],
    close: ['</invoke>'],
    dropped: ['<minimax:tool_call>', '</minimax:tool_call>'],
  },
  (writer, { tools }) => new TaggedBody(writer, shape, tools),
);

/** MiniMax M2: `<minimax:tool_call><invoke name="…"><parameter name="…">value</parameter></invoke></minimax:tool_call>`. */
export const minimax: ToolFormat = {
  name: 'minimax',
  detect: (template) => template.includes('<minimax:tool_call>'),
  create: (options) => new BlockReader(format, options),
};
