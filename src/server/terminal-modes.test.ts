import { expect, test } from 'vitest';
import type { ChatRequest } from '../chat/request.ts';
import type { GenerationEvent } from '../core/events.ts';
import { defaultControls } from '../core/request.ts';
import { controlLimits } from '../protocols/testing/doubles.ts';
import { oneAnswer, oneShot, terminalControls } from './terminal-modes.ts';
import { fakeService } from './testing/service.ts';

const limit = (maxTokens: number) => ({ ...defaultControls, maxTokens });

function output() {
  const closed = new AbortController();
  const written: string[] = [];
  return { closed, written, output: { closed: closed.signal, write: (text: string) => void written.push(text) } };
}

test('oneShot: streams the reply and ends it with a line break', async () => {
  const { text, asked } = fakeService(() => ({ pieces: ['Once', ' upon', ' a time'] }));
  const { output: target, written } = output();
  await oneShot(text, 'Tell me', limit(50), target);
  expect(written).toEqual(['Once', ' upon', ' a time', '\n']);
  expect(asked).toMatchObject([{ prompt: 'Tell me', memory: '', maxTokens: 50 }]);
});

test('oneShot: limits the tokens', async () => {
  const { text } = fakeService(() => ({ pieces: ['a', 'b', 'c'] }));
  const { output: target, written } = output();
  await oneShot(text, 'x', limit(2), target);
  expect(written.join('')).toBe('ab\n');
});

test('oneShot: an engine failure fails the program after the text so far', async () => {
  const { text } = fakeService(() => ({ pieces: ['a'], end: 'lost' }));
  const { output: target, written } = output();
  await expect(oneShot(text, 'x', limit(9), target)).rejects.toMatchObject({ code: 'engine-lost' });
  expect(written).toEqual(['a']);
});

test('oneShot: reports a missing model', async () => {
  const { text, engine } = fakeService(() => ({ pieces: ['a'] }));
  engine.become({ type: 'none' });
  await expect(oneShot(text, 'x', limit(9), output().output)).rejects.toMatchObject({ code: 'model-missing' });
});

test('oneShot: a closed output stops the generation', async () => {
  const steps: (() => void)[] = [];
  const { text, engine } = fakeService(() => ({ pieces: ['a', 'b', 'c'] }), { pace: (next) => steps.push(next) });
  const { output: target, closed, written } = output();
  const running = oneShot(text, 'x', limit(9), target);
  while (written.length === 0) {
    steps.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  closed.abort();
  await running;
  expect([engine.running, written]).toEqual([0, ['a', '\n']]);
});

test('oneShot: an output closed before the start generates nothing', async () => {
  const { text, engine } = fakeService(() => ({ pieces: ['a'] }));
  const { output: target, closed } = output();
  closed.abort();
  await oneShot(text, 'x', limit(9), target);
  expect(engine.begun).toBe(0);
});

test('oneAnswer: asks the chat model, and prints the answer without the thinking', async () => {
  const asked: unknown[] = [];
  async function* reply({ conversation, controls }: ChatRequest): AsyncGenerator<GenerationEvent> {
    asked.push(conversation.messages, controls.maxTokens);
    yield { type: 'reasoning-delta', text: 'Let me think.' } as GenerationEvent;
    yield { type: 'text-delta', text: 'Blue.' } as GenerationEvent;
  }
  const { output: target, written } = output();
  await oneAnswer({ reply }, 'Which colour?', limit(50), target);
  expect(written).toEqual(['Blue.', '\n']);
  expect(asked).toEqual([[{ role: 'user', content: [{ type: 'text', text: 'Which colour?' }] }], 50]);
});

test('terminalControls: are those of a request without fields', () => {
  const controls = terminalControls({ applyDefaults: (body) => body, controlLimits: () => controlLimits });
  expect(controls).toEqual({ ...defaultControls, maxTokens: controlLimits.defaultMaxTokens });
});

test('terminalControls: have the defaults of --gendefaults', () => {
  const applyDefaults = (body: object) => ({ ...body, temperature: 0, stop_sequence: ['x'] });
  const controls = terminalControls({ applyDefaults, controlLimits: () => controlLimits });
  expect(controls).toMatchObject({ sampling: { temperature: 0 }, stop: ['x'] });
});
