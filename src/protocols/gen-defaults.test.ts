import { expect, test } from 'vitest';
import { applyDefaults, requestDefaults, textDefaults } from '../config/gen-defaults.ts';
import type { GenerationControls } from '../core/request.ts';
import { whole } from '../core/slices.ts';
import type { JsonObject } from '../http/body.ts';
import { ResponseStore } from '../store/responses.ts';
import { ownDocuments } from './documents/library.ts';
import { readFields } from './fields.ts';
import { decodeOptions, nativeBody } from './llamacpp/decode.ts';
import { optionFields } from './llamacpp/fields.ts';
import { decode as decodeMessages } from './messages/decode.ts';
import { decode as decodeNative, generateFields } from './native/generate.ts';
import { decodeChat as decodeOllamaChat, readRequest } from './ollama/decode.ts';
import { chatFields } from './ollama/fields.ts';
import { decodeChat as decodeOpenaiChat } from './openai/chat/decode.ts';
import { decodeCompletion } from './openai/completions/decode.ts';
import { readCompletion } from './read-body.ts';
import { decode as decodeResponse } from './responses/decode.ts';
import { controlLimits, dialectParts, readyState } from './testing/doubles.ts';

type Given = Parameters<typeof requestDefaults>[0]['gendefaults'];
type Decode = (body: JsonObject, apply: (body: JsonObject) => JsonObject) => Promise<GenerationControls>;

const messages = [{ role: 'user', content: 'Hi' }];

/** What every dialect makes of a request after the server's defaults have been put into it. */
const dialects: Readonly<Record<string, Decode>> = {
  native: async (body, apply) => {
    const replacePlaceholders = <Texts>(texts: Texts): Texts => texts;
    const fields = readFields(generateFields, apply({ prompt: 'x', ...body }));
    return decodeNative(fields, { ...controlLimits, replacePlaceholders, state: readyState() });
  },
  'OpenAI chat': async (body, apply) => {
    const { request } = await decodeOpenaiChat(apply({ messages, ...body }), dialectParts());
    return request.controls;
  },
  'OpenAI completions': async (body, apply) => {
    const parts = { ...dialectParts(), replacePlaceholders: <Texts>(texts: Texts): Texts => texts };
    const { requests } = await decodeCompletion(apply({ prompt: 'x', ...body }), parts);
    return requests[0] as GenerationControls;
  },
  Responses: async (body, apply) => {
    const parts = { ...dialectParts(), store: new ResponseStore().of(''), own: ownDocuments({}, {}) };
    return whole(decodeResponse(apply({ input: 'x', ...body }), parts)).request.controls;
  },
  Messages: async (body, apply) => whole(decodeMessages(apply({ messages, ...body }), dialectParts())).request.controls,
  Ollama: async (body, apply) => {
    const parts = dialectParts({ applyDefaults: apply });
    const fields = readRequest(chatFields, { model: 'm', messages, ...body }, parts);
    return whole(decodeOllamaChat(fields, parts)).controls;
  },
  'llama.cpp': async (body, apply) =>
    decodeOptions(readCompletion(optionFields, apply(body), dialectParts(), nativeBody(apply(body)))).controls,
};

interface Case {
  readonly dialect: string;
  /** The default, and the request in the words of its dialect. */
  readonly gendefaults: NonNullable<Given>;
  readonly sent: JsonObject;
  readonly read: (controls: GenerationControls) => unknown;
  readonly theirs: unknown;
  readonly ours: unknown;
}

const sampling =
  (name: keyof GenerationControls['sampling']) =>
  ({ sampling: all }: GenerationControls) =>
    all[name];

const cases: readonly Case[] = [
  ...['native', 'llama.cpp', 'OpenAI chat', 'OpenAI completions', 'Messages', 'Responses'].flatMap(
    (dialect): Case[] => [
      {
        dialect,
        gendefaults: { rep_pen: 1.3 },
        sent: { repeat_penalty: 1.05 },
        read: sampling('repetitionPenalty'),
        theirs: 1.05,
        ours: 1.3,
      },
      { dialect, gendefaults: { sampler_seed: 7 }, sent: { seed: 42 }, read: sampling('seed'), theirs: 42, ours: 7 },
      {
        dialect,
        gendefaults: { typical: 0.5 },
        sent: { typical_p: 0.9 },
        read: sampling('typical'),
        theirs: 0.9,
        ours: 0.5,
      },
      {
        dialect,
        gendefaults: { rep_pen_range: 100 },
        sent: { repeat_last_n: 50 },
        read: sampling('repetitionRange'),
        theirs: 50,
        ours: 100,
      },
      { dialect, gendefaults: { nsigma: 2 }, sent: { top_n_sigma: 3 }, read: sampling('nSigma'), theirs: 3, ours: 2 },
      { dialect, gendefaults: { top_k: 5 }, sent: { top_k: 9 }, read: sampling('topK'), theirs: 9, ours: 5 },
    ],
  ),
  ...['llama.cpp', 'OpenAI chat', 'OpenAI completions', 'Responses'].map(
    (dialect): Case => ({
      dialect,
      gendefaults: { stop_sequence: ['ours'] },
      sent: { stop: ['theirs'] },
      read: ({ stop }) => stop,
      theirs: ['theirs'],
      ours: ['ours'],
    }),
  ),
  {
    dialect: 'Messages',
    gendefaults: { stop_sequence: 'ours' },
    sent: { stop_sequences: ['theirs'] },
    read: ({ stop }) => stop,
    theirs: ['theirs'],
    ours: ['ours'],
  },
  ...(
    [
      [{ rep_pen: 1.3 }, { repeat_penalty: 1.05 }, sampling('repetitionPenalty'), 1.05, 1.3],
      [{ sampler_seed: 7 }, { seed: 42 }, sampling('seed'), 42, 7],
      [{ typical: 0.5 }, { typical_p: 0.9 }, sampling('typical'), 0.9, 0.5],
      [{ tfs: 0.5 }, { tfs_z: 0.9 }, sampling('tailFree'), 0.9, 0.5],
      [{ rep_pen_range: 100 }, { repeat_last_n: 50 }, sampling('repetitionRange'), 50, 100],
      [{ temperature: 0.1 }, { temperature: 1.5 }, sampling('temperature'), 1.5, 0.1],
      [{ stop_sequence: ['ours'] }, { stop: ['theirs'] }, ({ stop }: GenerationControls) => stop, ['theirs'], ['ours']],
      [{ max_context_length: 512 }, { num_ctx: 1024 }, (all: GenerationControls) => all.maxContext, 1024, 512],
    ] as const
  ).map(
    ([gendefaults, options, read, theirs, ours]): Case => ({
      dialect: 'Ollama',
      gendefaults: gendefaults as NonNullable<Given>,
      sent: { options },
      read,
      theirs,
      ours,
    }),
  ),
  {
    dialect: 'llama.cpp',
    gendefaults: { grammar: 'root ::= "ours"' },
    sent: { json_schema: { theirs: 1 } },
    read: ({ grammar }) => grammar?.gbnf,
    theirs: 'root ::= theirs',
    ours: 'root ::= "ours"',
  },
  {
    dialect: 'llama.cpp',
    gendefaults: { ban_eos_token: true },
    sent: { ignore_eos: false },
    read: ({ endTokens }) => endTokens,
    theirs: 'stop',
    ours: 'ban',
  },
  {
    dialect: 'llama.cpp',
    gendefaults: { sampler_order: [6] },
    sent: { samplers: ['top_k'] },
    read: sampling('order'),
    theirs: ['top-k'],
    ours: ['repetition'],
  },
  ...(
    [
      ['native', { thinking_budget_tokens: 9 }],
      ['OpenAI chat', { reasoning: { max_tokens: 9 } }],
      ['OpenAI chat', { reasoning_budget_tokens: 9 }],
      ['Responses', { thinking_budget_tokens: 9 }],
      ['Messages', { thinking: { type: 'enabled', budget_tokens: 9 } }],
    ] as const
  ).map(
    ([dialect, sent]): Case => ({
      dialect,
      gendefaults: { reasoning_effort: 'low' },
      sent,
      read: ({ reasoning }) => reasoning,
      theirs: { type: 'tokens', tokens: 9 },
      ours: { type: 'share', share: 0.25 },
    }),
  ),
  ...(
    [
      ['native', { reasoning_effort: 'high' }],
      ['OpenAI chat', { reasoning_effort: 'high' }],
      ['OpenAI chat', { reasoning: { effort: 'high' } }],
      ['Responses', { reasoning: { effort: 'high' } }],
      ['Messages', { output_config: { effort: 'high' } }],
      ['Ollama', { think: 'high' }],
    ] as const
  ).map(
    ([dialect, sent]): Case => ({
      dialect,
      gendefaults: { thinking_budget_tokens: 9 },
      sent,
      read: ({ reasoning }) => reasoning,
      theirs: { type: 'share', share: 0.75 },
      ours: { type: 'tokens', tokens: 9 },
    }),
  ),
];

const decoded = (one: Case, sent: JsonObject, overwrite: boolean) => {
  const defaults = textDefaults(requestDefaults({ gendefaults: one.gendefaults, reasoningeffort: 'default' }));
  return (dialects[one.dialect] as Decode)(sent, (body) => applyDefaults(body, defaults, overwrite)).then(one.read);
};

const titled = cases.map((one): [string, string, Case] => [one.dialect, JSON.stringify(one.sent), one]);

test.each(titled)('gen defaults, %s: a request with %s overrides the default', async (_, __, one) => {
  expect(await decoded(one, one.sent, false)).toEqual(one.theirs);
});

test.each(titled)('gen defaults, %s: null for %s counts as left out', async (_, __, one) => {
  expect(await decoded(one, nulls(one.sent), false)).toEqual(one.ours);
});

test.each(titled)('gen defaults, %s: without %s the default counts', async (_, __, one) => {
  expect(await decoded(one, {}, false)).toEqual(one.ours);
});

test.each(titled)('gen defaults, %s: %s is overwritten in overwrite mode', async (_, __, one) => {
  expect(await decoded(one, one.sent, true)).toEqual(one.ours);
});

test.each(Object.keys(dialects))('gen defaults, %s: the length of a reply is never a default', async (dialect) => {
  const gendefaults = { max_length: 5, max_tokens: 5, n_predict: 5, num_predict: 5, max_output_tokens: 5 };
  const one: Case = { dialect, gendefaults, sent: {}, read: ({ maxTokens }) => maxTokens, theirs: 0, ours: 2048 };
  expect(await decoded(one, {}, false)).toBe(2048);
  expect(await decoded(one, {}, true)).toBe(2048);
});

test('gen defaults: a default effort counts for requests that only switch thinking on', async () => {
  const one = {
    dialect: 'Ollama',
    sent: {},
    theirs: 0,
    ours: 0,
    read: ({ reasoning }: GenerationControls) => reasoning,
  };
  const effort = { ...one, gendefaults: { reasoning_effort: 'low' } };
  expect(await decoded(effort, { think: true }, false)).toEqual({ type: 'share', share: 0.25 });
  expect(await decoded(effort, { think: false }, false)).toEqual({ type: 'share', share: 0 });
  const none = { ...one, gendefaults: { reasoning_effort: 'none' } };
  expect(await decoded(none, { think: true }, false)).toBeUndefined();
});

function nulls(sent: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(sent).map(([name, value]) => [name, name === 'options' ? nulls(value as JsonObject) : null]),
  );
}
