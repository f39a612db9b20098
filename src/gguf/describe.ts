import { basename } from 'node:path';
import { tableLines } from '../core/readable.ts';
import { type GgufEntry, type GgufHeader, type GgufTensor, type GgufValue, numberOf, textOf } from './gguf.ts';

const maxValueLength = 120;
const maxEntries = 6;

/** The content of a file as readable text: a summary, all metadata, all tensors. */
export function describeGguf(header: GgufHeader): string {
  return [
    ...tableLines(ggufSummary(header)),
    '',
    `Metadata (${header.metadata.size})`,
    ...tableLines([...header.metadata].map(([key, entry]) => [key, typeName(entry), valueText(entry.value)])),
    '',
    `Tensors (${header.tensors.length})`,
    ...tableLines(
      header.tensors.map((tensor) => [tensor.name, tensor.type, tensor.shape.join(' × '), size(tensor.bytes)]),
    ),
    '',
  ].join('\n');
}

/** Names and values of the most important facts. */
export function ggufSummary(header: GgufHeader): string[][] {
  const { architecture } = header;
  const count = (name: string) => numberOf(header, `${architecture}.${name}`)?.toLocaleString('en-US');
  const parameters = header.tensors.reduce((total, { elements }) => total + elements, 0);
  const template = textOf(header, 'tokenizer.chat_template');
  const rows: [string, string | undefined][] = [
    ['File', `${basename(header.path)} (${size(header.fileSize)})`],
    ['GGUF version', String(header.version)],
    ['Architecture', architecture],
    ['Name', textOf(header, 'general.name')],
    ['Parameters', `${short(parameters)} (${grouped(parameters)})`],
    ['Quantisation', quantisation(header.tensors)],
    ['Bits per weight', parameters === 0 ? undefined : ((sumBytes(header.tensors) * 8) / parameters).toFixed(2)],
    ['Context length', count('context_length')],
    ['Layers', count('block_count')],
    ['Width', count('embedding_length')],
    ['Heads', count('attention.head_count')],
    ['Vocabulary', vocabulary(header)],
    ['Chat template', template === undefined ? 'none' : templateText(template)],
    ['Licence', textOf(header, 'general.license')],
  ];
  return rows.map(([name, value]) => [`${name}:`, value ?? 'not said']);
}

/** What a chat template supports, as far as its text says. */
export function templateFeatures(template: string) {
  return {
    tools: /\btools\b|tool_call/.test(template),
    thinking: /enable_thinking|<think>|reasoning_content/.test(template),
  };
}

function templateText(template: string): string {
  const { tools, thinking } = templateFeatures(template);
  const features = [...(tools ? ['tools'] : []), ...(thinking ? ['thinking'] : [])].join(', ');
  return `present (${grouped(template.length)} characters)${features && `, with ${features}`}`;
}

/** The tensor types by their share of the weights, largest first. */
function quantisation(tensors: readonly GgufTensor[]): string | undefined {
  if (tensors.length === 0) return undefined;
  const total = sumBytes(tensors) || 1;
  return typesBySize(tensors)
    .map(
      ([type, { bytes, count }]) =>
        `${type} ${((bytes / total) * 100).toFixed(1)} % (${count} ${count === 1 ? 'tensor' : 'tensors'})`,
    )
    .join(', ');
}

/** The names of `general.file_type` by number; `-` is a number that is not in use. */
const fileTypes = (
  'F32 F16 Q4_0 Q4_1 - - - Q8_0 Q5_0 Q5_1 Q2_K Q3_K_S Q3_K_M Q3_K_L Q4_K_S Q4_K_M Q5_K_S Q5_K_M Q6_K IQ2_XXS ' +
  'IQ2_XS Q2_K_S IQ3_XS IQ3_XXS IQ1_S IQ4_NL IQ3_S IQ3_M IQ2_S IQ2_M IQ4_XS IQ1_M BF16 - - - TQ1_0 TQ2_0 MXFP4_MOE'
).split(' ');

/** The quantization that the file names, else the type that most of its bytes have. */
export function quantizationOf(header: GgufHeader): string {
  const named = fileTypes[numberOf(header, 'general.file_type') ?? -1] ?? '-';
  return named === '-' ? (typesBySize(header.tensors)[0]?.[0] ?? 'unknown') : named;
}

function typesBySize(tensors: readonly GgufTensor[]) {
  const byType = new Map<string, { bytes: number; count: number }>();
  for (const { type, bytes } of tensors) {
    const sum = byType.get(type) ?? { bytes: 0, count: 0 };
    byType.set(type, { bytes: sum.bytes + bytes, count: sum.count + 1 });
  }
  return [...byType].sort(([, a], [, b]) => b.bytes - a.bytes);
}

function vocabulary(header: GgufHeader): string | undefined {
  const tokens = header.metadata.get('tokenizer.ggml.tokens')?.value;
  const model = textOf(header, 'tokenizer.ggml.model');
  return typeof tokens === 'object' ? `${grouped(tokens.length)} entries${model ? ` (${model})` : ''}` : undefined;
}

function typeName({ type, value }: GgufEntry): string {
  return typeof value === 'object' ? `${value.type}[${value.length}]` : type;
}

function valueText(value: GgufValue): string {
  if (typeof value === 'object') {
    const first = value.values.slice(0, maxEntries).map(valueText);
    return shortened(`[${first.join(', ')}${value.length > first.length ? ', …' : ''}]`);
  }
  if (typeof value === 'string') return shortened(JSON.stringify(value));
  // A 32-bit float has seven digits; the rest of what a double shows of it is noise.
  return typeof value === 'number' && !Number.isInteger(value) ? String(Number(value.toPrecision(6))) : String(value);
}

function shortened(text: string): string {
  const characters = [...text];
  return characters.length <= maxValueLength ? text : `${characters.slice(0, maxValueLength - 1).join('')}…`;
}

function size(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];
  const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), units.length - 1);
  return power === 0 ? `${bytes} bytes` : `${(bytes / 1000 ** power).toFixed(1)} ${units[power]}`;
}

function short(count: number): string {
  if (count >= 1e9) return `${(count / 1e9).toFixed(2)} B`;
  return count >= 1e6 ? `${(count / 1e6).toFixed(1)} M` : grouped(count);
}

function grouped(value: number): string {
  return value.toLocaleString('en-US');
}

function sumBytes(tensors: readonly GgufTensor[]): number {
  return tensors.reduce((total, { bytes }) => total + bytes, 0);
}
