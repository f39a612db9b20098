import { describe, expect, test } from 'vitest';
import type { Chat, Turn } from '../model/conversation.ts';
import { emptyChat, withTurn } from '../model/tree.ts';
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

describe('calls', () => {
  test('are open until each has its result', () => {
    expect(openCalls(grown(asked, calling))?.calls).toEqual([clock, dice]);
    expect(openCalls(grown(asked, calling, result('r', 'b', 'k1')))?.calls).toEqual([dice]);
    expect(openCalls(grown(asked, calling, result('r', 'b', 'k1'), result('s', 'r', 'k2')))).toBeUndefined();
  });

  test('are not open while they are still written, nor in a plain reply', () => {
    expect(openCalls(grown(asked, { ...calling, pending: { genkey: 'K', since: 0, prefix: '' } }))).toBeUndefined();
    expect(openCalls(grown(asked, { ...calling, calls: [] }))).toBeUndefined();
    expect(openCalls(grown(asked))).toBeUndefined();
  });

  test('run unasked only where that was allowed in this chat', () => {
    const chat = { ...grown(asked, calling), trusted: ['clock'] };
    expect(runsWithoutApproval(chat, clock)).toBe(true);
    expect(runsWithoutApproval(chat, dice)).toBe(false);
  });

  test('ask again after many that nobody looked at', () => {
    let chat: Chat = { ...grown(asked, calling), trusted: ['clock'] };
    for (let round = 0; round < 25; round += 1)
      chat = withTurn(chat, result(`r${round}`, round === 0 ? 'b' : `r${round - 1}`, 'x'));
    expect(runsWithoutApproval(chat, clock)).toBe(false);
    expect(runsWithoutApproval(withTurn(chat, { ...asked, id: 'n', parent: 'r24' }), clock)).toBe(true);
  });
});
