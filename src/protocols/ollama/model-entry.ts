import { createHash } from 'node:crypto';
import { thinkingTags } from '../../chat/reasoning.ts';
import type { TextModel } from '../../core/text-service.ts';
import { type GgufHeader, type GgufValue, numberOf, textOf } from '../../gguf/types.ts';
import { timestamp } from './ending.ts';
import { quantizationOf } from './quantization.ts';

/** What the file of a model says of itself. */
export interface ModelFile {
  readonly header: GgufHeader;
  /** Milliseconds since 1970. */
  readonly modifiedAt: number;
}

/** A model and what is known of it: nothing of its file when that cannot be read, and while it loads only that. */
export interface KnownModel {
  readonly name: string;
  readonly model: TextModel | undefined;
  /** The one that its chats are written with. */
  readonly template: string | undefined;
  readonly file: ModelFile | undefined;
}

/** One entry of the lists of models. */
export function modelEntry(known: KnownModel): object {
  return {
    name: `${known.name}:latest`,
    model: `${known.name}:latest`,
    size: sizeOf(known),
    digest: identifier(known),
    details: modelDetails(known),
    capabilities: capabilities(known),
  };
}

/** That of its weights; a file tells it before they are read. */
function sizeOf({ model, file }: KnownModel): number {
  return model?.sizeBytes ?? file?.header.tensors.reduce((sum, { bytes }) => sum + bytes, 0) ?? 0;
}

function parametersOf({ model, file }: KnownModel): number | undefined {
  return model?.parameters ?? file?.header.tensors.reduce((sum, { elements }) => sum + elements, 0);
}

export function modifiedAt({ file }: KnownModel): string {
  return timestamp(file?.modifiedAt ?? 0);
}

export function modelDetails(known: KnownModel): object {
  const { model, file } = known;
  const parameters = parametersOf(known);
  const header = file?.header;
  const family = header?.architecture ?? '';
  const width = header && numberOf(header, `${family}.embedding_length`);
  return {
    parent_model: '',
    format: 'gguf',
    family,
    families: family === '' ? [] : [family],
    // Nobody tells it of a model elsewhere.
    parameter_size: parameters ? parameterSize(parameters) : '',
    quantization_level: header ? quantizationOf(header) : '',
    ...(model ? { context_length: usableContext(model) } : {}),
    ...(width === undefined ? {} : { embedding_length: width }),
  };
}

/** Apps set their limits by this, so it is what a request can really use, not what the model was trained for. */
export function usableContext({ contextSize, trainedContext }: TextModel): number {
  return trainedContext > 0 ? Math.min(contextSize, trainedContext) : contextSize;
}

/** Tools work with every model here: one whose template knows none is asked in two steps. */
export function capabilities({ model, file, template = '' }: KnownModel): readonly string[] {
  if (file && isEncoder(file.header)) return ['embedding'];
  const thinks = thinkingTags.some(({ start }) => template.includes(start));
  const { image = false, audio = false } = model?.inputs ?? {};
  const senses = [...(image ? ['vision'] : []), ...(audio ? ['audio'] : [])];
  const inserts = model?.fillMarks ? ['insert'] : [];
  return ['completion', 'tools', ...inserts, ...senses, ...(thinks ? ['thinking'] : [])];
}

/** Its tokens see each other in both directions, so that it can read and not write. */
function isEncoder({ architecture, metadata }: GgufHeader): boolean {
  return metadata.get(`${architecture}.attention.causal`)?.value === false;
}

const emptyArray: readonly never[] = [];

/**
 * The metadata of the file. The template has a field of its own, and long lists (the vocabulary) are empty unless the
 * file was read with all of them.
 */
export function modelInfo(known: KnownModel): Readonly<Record<string, unknown>> {
  const { name, model, file } = known;
  if (!file) return model ? { 'general.basename': name, 'general.parameter_count': model.parameters } : {};
  const { header } = file;
  const info: Record<string, unknown> = { 'general.basename': textOf(header, 'general.name') ?? name };
  for (const [key, { value }] of header.metadata) {
    if (key !== 'tokenizer.chat_template') info[key] = plainValue(value);
  }
  info['general.parameter_count'] = parametersOf(known);
  if (!model) return info;
  // What the model was trained for; a file that does not say it is known only to whoever has loaded it.
  info[`${header.architecture}.context_length`] ??= model.trainedContext;
  return info;
}

function plainValue(value: GgufValue): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (typeof value !== 'object') return value;
  return value.values.length < value.length ? emptyArray : value.values.map(plainValue);
}

/** Stays the same as long as the model does; to hash gigabytes for a list would be too much. */
function identifier(known: KnownModel): string {
  const facts = [known.name, sizeOf(known), known.file?.modifiedAt ?? 0].join('\n');
  return createHash('sha256').update(facts).digest('hex');
}

export function parameterSize(count: number): string {
  if (count >= 1e9) return `${(count / 1e9).toFixed(1)}B`;
  if (count >= 1e6) return `${(count / 1e6).toFixed(count % 1e6 === 0 ? 0 : 2)}M`;
  return count >= 1e3 ? `${Math.round(count / 1e3)}K` : String(count);
}
