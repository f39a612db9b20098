import { expect, test } from 'vitest';
import type { JsonObject } from '../http/body.ts';
import * as f from './fields.ts';
import { readChat, readCompletion } from './read-body.ts';
import { controlLimits, dialectParts } from './testing/doubles.ts';

const table = { user: f.ignored(), prompt: f.honoured(f.orElse(f.readText, '')), stop: f.honoured(f.anyValue) };
const notices = (body: JsonObject) => readChat(table, body, dialectParts()).notices;

test('readChat: names ignored fields and those that need another field', () => {
  expect(notices({ user: 'me', guidance_scale: 2 }).ignored).toEqual(['user', 'guidance_scale']);
  const guided = dialectParts({ controlLimits: () => ({ ...controlLimits, guidance: true }) });
  const body = { guidance_scale: 2, negative_prompt: 'not this' };
  expect(readChat(table, body, guided).notices.ignored).toEqual([]);
});

test.each<[JsonObject, readonly string[]]>([
  [{ think: false }, ['think']],
  [{ thinking: { type: 'disabled' } }, ['thinking']],
  [{ reasoning: { effort: 'none', enabled: false } }, ['reasoning.effort', 'reasoning.enabled']],
  [
    { chat_template_kwargs: { enable_thinking: false }, reasoning_effort: 'off' },
    ['chat_template_kwargs.enable_thinking', 'reasoning_effort'],
  ],
  [{ think: true, reasoning_effort: 'low', thinking: { type: 'enabled' } }, []],
])('readChat: the fields of %j that switch thinking off', (body, expected) => {
  expect(notices(body).thinkingOff).toEqual(expected);
});

test('readChat: the adapter of the request sets the length of the reply, readCompletion: only that of the server', () => {
  const body = { adapter: { max_length: 200 } };
  expect(readChat(table, body, dialectParts()).controls.maxTokens).toBe(200);
  expect(readCompletion(table, body, dialectParts()).controls.maxTokens).toBe(2048);
});

test('readCompletion: native controls may come from another body', () => {
  const read = readCompletion(table, { prompt: 'a', top_k: 1 }, dialectParts(), { top_k: 7 });
  expect([read.fields.prompt, read.native.top_k, read.controls.sampling.topK]).toEqual(['a', 7, 7]);
});
