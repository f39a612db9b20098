import type { TextModel } from '../../../core/text-service.ts';
import type { GgufEntry, GgufHeader, GgufTensor } from '../../../gguf/gguf.ts';
import { dialectParts, type Script, scriptedChat, scriptedText } from '../../testing/doubles.ts';
import type { ModelFile, ModelFileContext } from '../models.ts';
import type { OllamaContext as HandlerContext } from '../routes.ts';

export type OllamaContext = HandlerContext & ModelFileContext;

export const model: TextModel = {
  name: 'mini',
  path: '/models/mini.gguf',
  contextSize: 4096,
  trainedContext: 8192,
  vocabularySize: 32_000,
  vocabularyType: 2,
  embeddingLength: 512,
  parameters: 8_030_000_000,
  sizeBytes: 4_912_898_304,
  description: '',
  chatTemplate: '{{ messages }}<think>',
  specialTokens: { bos: '<s>', eos: '</s>' },
  inputs: { image: false, audio: false },
};

const tensor: GgufTensor = { name: 'w', shape: [32], type: 'Q8_0', offset: 0, elements: 32, bytes: 34 };

export function header(own: Partial<GgufHeader> = {}): GgufHeader {
  const metadata = new Map<string, GgufEntry>([
    ['general.architecture', { type: 'string', value: 'llama' }],
    ['general.name', { type: 'string', value: 'Mini' }],
    ['general.license', { type: 'string', value: 'apache-2.0' }],
    ['general.file_type', { type: 'uint32', value: 15 }],
    ['llama.context_length', { type: 'uint32', value: 8192 }],
    ['llama.embedding_length', { type: 'uint32', value: 512 }],
    ['llama.big', { type: 'uint64', value: 12n }],
    ['llama.short', { type: 'array', value: { type: 'uint32', length: 2, values: [1, 2] } }],
    ['tokenizer.ggml.tokens', { type: 'array', value: { type: 'string', length: 3, values: ['a'] } }],
    ['tokenizer.chat_template', { type: 'string', value: 'x' }],
  ]);
  return {
    path: model.path,
    fileSize: 100,
    version: 3,
    architecture: 'llama',
    metadata,
    tensors: [tensor],
    alignment: 32,
    dataOffset: 0,
    ...own,
  };
}

export const file: ModelFile = { header: header(), modifiedAt: Date.UTC(2026, 10, 1) };

/** Test doubles around one script: what the endpoints are built on, and notes of what they asked for. */
export function ollamaContext(script: Script = [], own: Partial<OllamaContext> = {}) {
  const kept: number[] = [];
  const { text, asked: askedText } = scriptedText(script, {
    state: () => ({ type: 'ready', model }),
    keepFor: (milliseconds) => void kept.push(milliseconds),
  });
  const { chat, asked: askedChat } = scriptedChat(script, {
    render: async ({ memory }) => ({ by: 'adapter', prompt: '<p>', memory, stop: [], warnings: [] }),
  });
  const parts: OllamaContext = {
    ...dialectParts({ text, chat, modelName: () => 'koboldcpp/mini' }),
    modelFile: async () => file,
    ...own,
  };
  return { parts, askedText, askedChat, kept };
}
