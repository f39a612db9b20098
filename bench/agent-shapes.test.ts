import { describe, expect, test } from 'vitest';
import { agentShapes } from './agent-shapes.ts';

const shapes = agentShapes({ words: 1, turns: 9, scale: 0.1 });

/** What of a request reaches the model, in its order. */
const promptParts = ({ body }: { readonly body: Readonly<Record<string, unknown>> }) =>
  ['tools', 'system', 'input', 'messages', 'prompt']
    .flatMap((key) => body[key] ?? [])
    .map((part) => JSON.stringify(part));

describe.each(shapes.map((shape) => [shape.name, shape] as const))('%s', (_, shape) => {
  test('sends at each turn what it sent before, and more', () => {
    const [before, now] = [promptParts(shape.turn(3)), promptParts(shape.turn(4))];
    // A prompt that is one text ends with the name of the one who answers.
    const last = (before.pop() ?? '').replace(/\\nAda:"$/, '').replace(/"$/, '');
    expect(now.slice(0, before.length)).toEqual(before);
    expect(now[before.length]?.startsWith(last)).toBe(true);
    expect(now.join('').length).toBeGreaterThan(before.join('').length + last.length);
  });

  test('asks for other things between its turns, or lets sub-agents work', () => {
    const others = Array.from({ length: 9 }, (__, turn) => [...shape.sideRequests(turn), ...shape.after(turn)]).flat();
    expect(others.length).toBeGreaterThanOrEqual(6);
    const turns = Array.from({ length: 9 }, (__, turn) => JSON.stringify(shape.turn(turn).body));
    for (const { body } of [...others, shape.anew]) expect(turns).not.toContain(JSON.stringify(body));
  });
});

test('chat pages quote the chat in what they ask between its turns', () => {
  for (const shape of shapes.slice(3)) {
    const chat = JSON.stringify(shape.turn(4).body);
    const quoted = shape.after(4).map(({ body }) => JSON.stringify(body));
    const words = /\b(?:[a-z]{3} ){12}/.exec(chat.slice(-300))?.[0] ?? '?';
    expect(quoted.some((body) => body.includes(words))).toBe(true);
  }
});
