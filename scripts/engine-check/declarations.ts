import { readFileSync } from 'node:fs';
import koffi from 'koffi';
import { poolings } from '../../src/engines/embedding/worker/model.ts';
import { cacheTypes } from '../../src/engines/llama/model-shape.ts';
import { contextTypes, stateFlags } from '../../src/engines/llama/worker/memory/context.ts';
import { plainLayout } from '../../src/engines/llama/worker/native/structs.ts';
import {
  gpuTypes,
  loadModes,
  overrideLayout,
  overrideTags,
  splitModes,
} from '../../src/engines/llama/worker/native/weights.ts';
import { tokenKinds } from '../../src/engines/llama/worker/text/vocabulary.ts';
import type { FieldFacts, HeaderFacts } from './headers.ts';

/** Kinds by the names that `structs.ts` gives to C types; every other name there is a pointer, or a struct by value. */
const kinds: Readonly<Record<string, string>> = {
  void: 'void',
  bool: 'bool',
  int: 'int32',
  int32: 'int32',
  uint32: 'uint32',
  uint64: 'uint64',
  size_t: 'uint64',
  float: 'float',
};

/** What the worker declares of llama.cpp: the prototypes in its files, the structs that koffi knows, and the values of enumerators. */
export function ownDeclarations(root: URL): HeaderFacts {
  const files = ['native/native.ts', 'sampler-threads/sampler-thread.ts'];
  const texts = files.map((name) => readFileSync(new URL(`src/engines/llama/worker/${name}`, root), 'utf8'));
  const prototypes = texts.join('\n').matchAll(/'(\w+) ((?:llama|ggml)_\w+)\(([^()']*)\)'/g);
  const functions = [...prototypes].map(([, result, name, list]) => {
    const parameters = (list as string).split(', ').filter((parameter) => parameter !== 'void');
    return [name as string, `${kindOf(result as string)}(${parameters.map(kindOf).join(', ')})`] as const;
  });
  return {
    functions: Object.fromEntries(functions.filter(([name]) => name !== 'ggml_backend_score')),
    structs: {
      llama_model_params: fieldsOf('llama_model_params'),
      llama_context_params: fieldsOf(plainLayout.contextParams),
      llama_batch: fieldsOf('llama_batch'),
      ggml_threadpool_params: fieldsOf('ggml_threadpool_params'),
      llama_model_kv_override: overrideFields(),
    },
    constants: {
      ...prefixed('LLAMA_LOAD_MODE_', loadModes),
      ...prefixed('LLAMA_SPLIT_MODE_', splitModes),
      ...prefixed('LLAMA_TOKEN_ATTR_', tokenKinds),
      ...prefixed('LLAMA_STATE_SEQ_FLAGS_', stateFlags),
      ...prefixed('LLAMA_CONTEXT_TYPE_', contextTypes),
      ...prefixed('LLAMA_KV_OVERRIDE_TYPE_', overrideTags),
      ...prefixed('LLAMA_POOLING_TYPE_', Object.fromEntries(poolings.map((name, index) => [name, index]))),
      ...prefixed('GGML_TYPE_', Object.fromEntries(Object.entries(cacheTypes).map(([name, { id }]) => [name, id]))),
      ...prefixed('GGML_BACKEND_DEVICE_TYPE_', gpuTypes),
      LLAMA_FLASH_ATTN_TYPE_AUTO: -1,
      LLAMA_FLASH_ATTN_TYPE_DISABLED: 0,
    },
  };
}

/** Names of the library for ours, where they differ by more than their case. */
const names: Readonly<Record<string, string>> = {
  'LLAMA_LOAD_MODE_mmap+mlock': 'LLAMA_LOAD_MODE_MMAP_MLOCK',
  'LLAMA_LOAD_MODE_direct-io': 'LLAMA_LOAD_MODE_DIRECT_IO',
  LLAMA_TOKEN_ATTR_userDefined: 'LLAMA_TOKEN_ATTR_USER_DEFINED',
  LLAMA_TOKEN_ATTR_stripsBefore: 'LLAMA_TOKEN_ATTR_LSTRIP',
  LLAMA_STATE_SEQ_FLAGS_whole: 'LLAMA_STATE_SEQ_FLAGS_NONE',
  LLAMA_STATE_SEQ_FLAGS_part: 'LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY',
};

function prefixed(prefix: string, values: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [names[prefix + name] ?? prefix + name.toUpperCase(), value]),
  );
}

/** Of a result (`int32`) or a parameter (`int32 count`, `_Out_ size_t *free`). */
function kindOf(declaration: string): string {
  if (declaration.includes('*')) return 'pointer';
  const [type = ''] = declaration.split(' ');
  return kinds[type] ?? (/^(?:llama|ggml)_/.test(type) ? type : 'pointer');
}

interface KoffiType {
  readonly primitive: string;
  readonly size: number;
  readonly members: Readonly<
    Record<string, { readonly name: string; readonly type: KoffiType; readonly offset: number }>
  >;
  /** Of an array: what it consists of. */
  readonly ref?: KoffiType;
}

const koffiKinds: Readonly<Record<string, string>> = { String: 'pointer', Float32: 'float', Float64: 'double' };

function fieldsOf(struct: string): readonly FieldFacts[] {
  const { members } = koffi.type(struct) as unknown as KoffiType;
  return Object.values(members).map(({ name, type, offset }) => {
    const { primitive } = type.primitive === 'Array' && type.ref ? type.ref : type;
    return { name, kind: koffiKinds[primitive] ?? primitive.toLowerCase(), offset, size: type.size };
  });
}

/** Written byte by byte, because koffi knows no union. */
function overrideFields(): readonly FieldFacts[] {
  const { tag, key, value, bytes } = overrideLayout;
  return [
    { name: 'tag', kind: 'int32', offset: tag, size: key - tag },
    { name: 'key', kind: 'int8', offset: key, size: 128 },
    { name: 'val_i64', kind: 'int64', offset: value, size: 8 },
    { name: 'val_f64', kind: 'double', offset: value, size: 8 },
    { name: 'val_bool', kind: 'bool', offset: value, size: 1 },
    { name: 'val_str', kind: 'int8', offset: value, size: bytes - value },
  ];
}
