import { BlockReader, blockFormat } from './block-reader.ts';
import type { ToolFormat } from './format.ts';
import { JsonBody } from './json-body.ts';

const header = /^\s*(?:functions\.)?([^\s:<]+)(?::\d+)?\s*<\|tool_call_argument_begin\|>\s*(?=\{)/;

/** The number behind the name says that it is whole. */
const completed = (cut: string): string =>
  `${cut.replace(/^(\s*[^\s:<]+:\d+)(?:<[\s\S]*)?$/, '$1<|tool_call_argument_begin|>')}{`;

const format = blockFormat(
  {
    open: ['<|tool_call_begin|>'],
    close: ['<|tool_call_end|>'],
    dropped: ['<|tool_calls_section_begin|>', '<|tool_calls_section_end|>'],
  },
  (writer) => new JsonBody(writer, { header, completed }),
);

/** `<|tool_call_begin|>functions.name:0<|tool_call_argument_begin|>{…}<|tool_call_end|>`. */
export const kimi: ToolFormat = {
  name: 'kimi',
  detect: (template) => template.includes('<|tool_call_begin|>'),
  create: (options) => new BlockReader(format, options),
};
