import { BlockReader, blockFormat } from './block-reader.ts';
import type { ToolFormat } from './format.ts';
import { JsonBody, type WholeCall } from './json-body.ts';

const textMark = '<|"|>';

/** Never matches: this is not JSON until the whole of it has been rewritten. */
const header = /(?!)/;

const format = blockFormat(
  { open: ['<|tool_call>'], close: ['<tool_call|>'], dropped: [] },
  (writer) => new JsonBody(writer, { header, whole: readCall, begun: readBeginning }),
);

/** Gemma 4: `<|tool_call>call:name{key:<|"|>text<|"|>,other:1}<tool_call|>`. */
export const gemma: ToolFormat = {
  name: 'gemma',
  detect: (template) => template.includes('<|tool_call>'),
  create: (options) => new BlockReader(format, options),
};

function readCall(body: string): readonly WholeCall[] {
  const found = /^\s*call:\s*([\w.-]+)\s*(\{[\s\S]*\})\s*$/.exec(body);
  if (found?.[1] === undefined || found[2] === undefined) return [];
  try {
    return [{ name: found[1], json: JSON.stringify(JSON.parse(asJson(found[2]))) }];
  } catch {
    return [];
  }
}

/** Of a call that was cut off: its name, and its arguments as far as they go. */
function readBeginning(body: string): WholeCall | undefined {
  const found = /^\s*call:\s*([\w.-]+)\s*(\{[\s\S]*)$/.exec(body);
  if (found?.[1] === undefined || found[2] === undefined) return undefined;
  const given = found[2].replace(/<(?:\|(?:"\|?)?)?$/, '');
  const open = given.split(textMark).length % 2 === 0;
  const json = asJson(given);
  return { name: found[1], json: open ? json.slice(0, -1) : json };
}

/** Texts stand between marks of their own, so every other part is free of them and its keys can be quoted. */
function asJson(object: string): string {
  return object
    .split(textMark)
    .map((part, index) => (index % 2 === 1 ? JSON.stringify(part) : quoteKeys(part)))
    .join('');
}

function quoteKeys(part: string): string {
  return part.replace(/([{,]\s*)([A-Za-z_][\w.-]*)(\s*:)/g, '$1"$2"$3');
}
