import { describe, expect, test } from 'vitest';
import type { Chat, Turn } from '../conversations/conversation.ts';
import { emptyChat, withTurn } from '../conversations/tree.ts';
import { openCalls, runsWithoutApproval } from './calls.ts';

const clock = { id: 'k1', name: 'clock', arguments: '{}' };
const dice = { id: 'k2', name: 'dice', arguments: '{}' };
const asked: Turn = { id: 'a', parent: null, role: 'user', text: 'Roll.', at: 1 };
const calling: Turn = { id: 'b', parent: 'a', role: 'assistant', text: '', at: 2, calls: [clock, dice] };
const result = (id: string, parent: string, callId: string): Turn => ({
  id,
  parent,
  role: 'tool',
  text: '6',
  at: 3,
  callId,
});
const grown = (...turns: Turn[]): Chat => turns.reduce(withTurn, emptyChat('c', 0));

describe('tool calls', () => {
  test('openCalls returns calls without a result', () => {
    expect(openCalls(grown(asked, calling))?.calls).toEqual([clock, dice]);
    expect(openCalls(grown(asked, calling, result('r', 'b', 'k1')))?.calls).toEqual([dice]);
    expect(openCalls(grown(asked, calling, result('r', 'b', 'k1'), result('s', 'r', 'k2')))).toBeUndefined();
  });

  test('openCalls returns nothing for running or plain replies', () => {
    expect(openCalls(grown(asked, { ...calling, pending: { genkey: 'K', since: 0, prefix: '' } }))).toBeUndefined();
    expect(openCalls(grown(asked, { ...calling, calls: [] }))).toBeUndefined();
    expect(openCalls(grown(asked))).toBeUndefined();
  });

  test('runsWithoutApproval is true only for trusted tools', () => {
    const chat = { ...grown(asked, calling), trusted: ['clock'] };
    expect(runsWithoutApproval(chat, clock)).toBe(true);
    expect(runsWithoutApproval(chat, dice)).toBe(false);
  });

  test('runsWithoutApproval is false after 25 calls', () => {
    let chat: Chat = { ...grown(asked, calling), trusted: ['clock'] };
    for (let round = 0; round < 25; round += 1)
      chat = withTurn(chat, result(`r${round}`, round === 0 ? 'b' : `r${round - 1}`, 'x'));
    expect(runsWithoutApproval(chat, clock)).toBe(false);
    expect(runsWithoutApproval(withTurn(chat, { ...asked, id: 'n', parent: 'r24' }), clock)).toBe(true);
  });
});
