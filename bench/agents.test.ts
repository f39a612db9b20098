import { describe, expect, test } from 'vitest';
import { type AgentShape, computedAgain, conversation, shapes } from './agents.ts';

const [agent, page] = shapes(200, 9) as readonly [AgentShape, AgentShape];

test('each turn sends the conversation before it again, word for word', () => {
  const earlier = conversation(agent, 2).replace(/Agent:$/, '');
  expect(conversation(agent, 3).startsWith(earlier)).toBe(true);
});

test('sub-agents have the rules of the agent, and another conversation', () => {
  const sides = agent.sides(4, conversation(agent, 4), agent);
  const [rules] = conversation(agent, 0).split('\nUser:');
  expect(sides.map((side) => side.startsWith(rules ?? '?'))).toEqual([false, false, true, true]);
  expect(new Set([...sides, conversation(agent, 4)]).size).toBe(5);
  expect(agent.sides(0, '', agent)).toHaveLength(2);
});

test('the requests of a chat page quote the chat', () => {
  for (const side of page.sides(1, 'the chat', page)) expect(side).toContain('\nthe chat\n');
});

describe('computedAgain', () => {
  const turns = (...cached: number[]) =>
    cached.map((cachedTokens, index) => ({ cachedTokens, promptTokens: 1000 + 100 * index }));
  test.each([
    ['nothing, if only what is new was computed', turns(0, 1000, 1100), 0],
    ['a turn that was lost', turns(0, 1000, 0), 550],
    ['more from the cache than the turn before does not count', turns(0, 1050, 1100), 0],
    ['a single turn', turns(0), 0],
  ])('%s', (_, seen, expected) => expect(computedAgain(seen)).toBe(expected));
});
