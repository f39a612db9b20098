import { BlockReader, blockFormat } from './block-reader.ts';
import type { ToolFormat } from './format.ts';
import { JsonBody } from './json-body.ts';

const header = /^([\w.-]+)(?![\w.-])[^{]*?<\|message\|>\s*(?=\{)/;

/** Whatever stands behind the name, it is whole. */
const completed = (cut: string): string => cut.replace(/^([\w.-]+)[^\w.-][\s\S]*$/, '$1<|message|>{');

const format = blockFormat(
  {
    open: ['<|channel|>commentary to=functions.', '<|start|>assistant to=functions.', ' to=functions.'],
    close: ['<|call|>', '<|end|>'],
    dropped: ['<|start|>assistant', '<|channel|>commentary<|message|>', '<|channel|>final<|message|>', '<|end|>'],
  },
  (writer) => new JsonBody(writer, { header, completed }),
);

/** gpt-oss: `<|channel|>commentary to=functions.name <|constrain|>json<|message|>{…}<|call|>`. */
export const harmony: ToolFormat = {
  name: 'harmony',
  detect: (template) => template.includes('<|channel|>') && template.includes('<|start|>'),
  create: (options) => new BlockReader(format, options),
};
