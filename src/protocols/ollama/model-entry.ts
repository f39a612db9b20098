import { createHash } from 'node:crypto';
import { thinkingTags } from '../../chat/reasoning.ts';
import type { EmbeddingService } from '../../core/embedding.ts';
import type { TextModel } from '../../core/text-service.ts';
import { type GgufHeader, type GgufValue, numberOf, textOf } from '../../gguf/gguf.ts';
import { timestamp } from './encode.ts';

/** The header of a model file, and when the file was last changed (milliseconds since 1970). */
export interface ModelFile {
  readonly header: GgufHeader;
  readonly modifiedAt: number;
}

/** What lists and `/api/show` say about a model. */
export type ModelEntry = ReturnType<typeof textEntry>;

/** A text model: `model` is undefined until it is loaded, `file` if it cannot be read. */
export function textEntry(name: string, model?: TextModel, file?: ModelFile, template = '') {
  const { header, modifiedAt = 0 } = file ?? {};
  const size = model?.sizeBytes ?? header?.tensors.reduce((sum, { bytes }) => sum + bytes, 0) ?? 0;
  const parameters = model?.parameters ?? header?.tensors.reduce((sum, { elements }) => sum + elements, 0);
  const contextLength = model && usableContext(model);
  return {
    name,
    size,
    // To hash gigabytes for a list would take too long.
    digest: sha256([name, size, modifiedAt].join('\n')),
    modifiedAt,
    details: details(header?.architecture, parameters, header && quantizationOf(header), {
      context_length: contextLength,
      embedding_length: header && numberOf(header, `${header.architecture}.embedding_length`),
    }),
    capabilities: textCapabilities(model, header, template),
    info: textInfo(name, model, header, parameters),
    template,
    license: header && textOf(header, 'general.license'),
    contextLength,
  };
}

/** The embeddings model; little is known of one that was never loaded, or that a remote backend serves. */
export function embeddingEntry({ name, facts, file }: EmbeddingService): ModelEntry {
  const known = facts();
  const { architecture = '', parameters, maxTokens: contextLength, dimensions } = known ?? {};
  const { sizeBytes = known?.sizeBytes ?? 0, modifiedAt = 0 } = file?.() ?? {};
  const info = known && {
    'general.architecture': architecture,
    'general.parameter_count': parameters,
    [`${architecture}.context_length`]: contextLength,
    [`${architecture}.embedding_length`]: dimensions,
  };
  return {
    name,
    size: sizeBytes,
    digest: sha256(name),
    modifiedAt,
    details: details(architecture, parameters, '', { context_length: contextLength, embedding_length: dimensions }),
    capabilities: ['embedding'],
    info: { 'general.basename': name, ...info },
    template: '',
    license: undefined,
    contextLength: undefined,
  };
}

export function tagBody(entry: ModelEntry): object {
  const { name, size, digest, details, capabilities } = entry;
  const tag = `${name}:latest`;
  return { name: tag, model: tag, modified_at: timestamp(entry.modifiedAt), size, digest, details, capabilities };
}

export function runningBody(entry: ModelEntry, expiresAt: number, gpuBytes = 0): object {
  const { name, size, digest, details, capabilities, contextLength } = entry;
  const tag = `${name}:latest`;
  return {
    ...{ name: tag, model: tag, size, digest, details, capabilities },
    expires_at: timestamp(Math.min(expiresAt, never)),
    size_vram: gpuBytes,
    ...(contextLength === undefined ? {} : { context_length: contextLength }),
  };
}

/** Far enough, and still a date that every client can hold. */
export const never = Date.UTC(2300, 0, 1);

export function shownBody({ license, contextLength, ...entry }: ModelEntry): object {
  return {
    ...(license === undefined ? {} : { license }),
    modelfile: `FROM ${entry.name}\n`,
    parameters: contextLength === undefined ? '' : `${'num_ctx'.padEnd(31)}${contextLength}`,
    template: entry.template,
    details: entry.details,
    model_info: entry.info,
    capabilities: entry.capabilities,
    modified_at: timestamp(entry.modifiedAt),
  };
}

/** `sizes` are left out where they are not known. */
function details(family = '', parameters = 0, quantization = '', sizes: object = {}) {
  return {
    parent_model: '',
    format: 'gguf',
    family,
    families: family === '' ? [] : [family],
    parameter_size: parameters > 0 ? parameterSize(parameters) : '',
    quantization_level: quantization,
    ...sizes,
  };
}

/** Apps set their limits by this: what a request can use, not what the model was trained for. */
function usableContext({ contextSize, trainedContext }: TextModel): number {
  return trainedContext > 0 ? Math.min(contextSize, trainedContext) : contextSize;
}

/** Tools work with every model: one whose template has none is asked in two steps. */
function textCapabilities(model: TextModel | undefined, header: GgufHeader | undefined, template: string) {
  // The tokens of an encoder see each other in both directions: it cannot generate.
  if (header?.metadata.get(`${header.architecture}.attention.causal`)?.value === false) return ['embedding'];
  const found = {
    completion: true,
    tools: true,
    insert: model?.fillMarks !== undefined,
    vision: model?.inputs.image ?? false,
    audio: model?.inputs.audio ?? false,
    thinking: thinkingTags.some(({ start }) => template.includes(start)),
  };
  return Object.entries(found).flatMap(([name, has]) => (has ? [name] : []));
}

/** The metadata of the file, without the template. Long lists are empty unless the file was read with them. */
function textInfo(
  name: string,
  model: TextModel | undefined,
  header: GgufHeader | undefined,
  parameters: number | undefined,
): Readonly<Record<string, unknown>> {
  if (!header) return model ? { 'general.basename': name, 'general.parameter_count': parameters } : {};
  const info: Record<string, unknown> = { 'general.basename': textOf(header, 'general.name') ?? name };
  for (const [key, { value }] of header.metadata) {
    if (key !== 'tokenizer.chat_template') info[key] = plainValue(value);
  }
  info['general.parameter_count'] = parameters;
  // The trained context, also where the file does not have it.
  if (model) info[`${header.architecture}.context_length`] ??= model.trainedContext;
  return info;
}

function plainValue(value: GgufValue): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (typeof value !== 'object') return value;
  return value.values.length < value.length ? [] : value.values.map(plainValue);
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function parameterSize(count: number): string {
  if (count >= 1e9) return `${(count / 1e9).toFixed(1)}B`;
  if (count >= 1e6) return `${(count / 1e6).toFixed(count % 1e6 === 0 ? 0 : 2)}M`;
  return count >= 1e3 ? `${Math.round(count / 1e3)}K` : String(count);
}

/** The names of `general.file_type` by number; `-` is a number that is not in use. */
const fileTypes = (
  'F32 F16 Q4_0 Q4_1 - - - Q8_0 Q5_0 Q5_1 Q2_K Q3_K_S Q3_K_M Q3_K_L Q4_K_S Q4_K_M Q5_K_S Q5_K_M Q6_K IQ2_XXS ' +
  'IQ2_XS Q2_K_S IQ3_XS IQ3_XXS IQ1_S IQ4_NL IQ3_S IQ3_M IQ2_S IQ2_M IQ4_XS IQ1_M BF16 - - - TQ1_0 TQ2_0 MXFP4_MOE'
).split(' ');

/** The quantization that the file names, else the type that most of its bytes have. */
export function quantizationOf(header: GgufHeader): string {
  const named = fileTypes[numberOf(header, 'general.file_type') ?? -1] ?? '-';
  if (named !== '-') return named;
  const bytes = new Map<string, number>();
  for (const tensor of header.tensors) bytes.set(tensor.type, (bytes.get(tensor.type) ?? 0) + tensor.bytes);
  const [largest] = [...bytes].sort(([, a], [, b]) => b - a);
  return largest?.[0] ?? 'unknown';
}
