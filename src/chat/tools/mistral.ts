import { BlockReader, blockFormat } from './block-reader.ts';
import type { CallWriter } from './call-writer.ts';
import type { ToolFormat } from './format.ts';
import { JsonBody } from './json-body.ts';
import { completedCall, jsonCalls } from './json-call.ts';

/** The newer manner names the tool in plain text, the older one writes a list; both follow the same tag. */
const header = new RegExp(
  `${String.raw`^\s*([\w.-]+)(?:\[CALL_ID\][^[]*)?(?:\[ARGS\])?\s*(?=\{)`}|${jsonCalls.header.source}`,
);

const format = blockFormat({ open: ['[TOOL_CALLS]'], close: [], dropped: [] }, (writer: CallWriter) => {
  return new JsonBody(writer, { ...jsonCalls, header, completed });
});

/** In plain text a name is known to be whole by the tag behind it. */
function completed(cut: string): string {
  return /\[ARGS\]\s*$/.test(cut) ? `${cut}{` : completedCall(cut);
}

/** `[TOOL_CALLS]name[ARGS]{…}`, and `[TOOL_CALLS][{"name": …, "arguments": {…}, "id": …}]` before Tekken v11. */
export const mistral: ToolFormat = {
  name: 'mistral',
  detect: (template) => template.includes('[TOOL_CALLS]'),
  create: (options) => new BlockReader(format, options),
};
