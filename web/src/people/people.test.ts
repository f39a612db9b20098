import { describe, expect, test } from 'vitest';
import type { DayUsage, ListedKey } from '../keys/keys.ts';
import {
  type IssuedInvitation,
  inviteBody,
  isOfThisMachine,
  type ListedSession,
  linkAddresses,
  peopleOf,
  ruleBody,
  rulesOf,
  scopeSet,
} from './people.ts';

const key = (name: string) => ({ name }) as ListedKey;
const day = (type: string, name: string, requests: number): DayUsage => ({
  day: '2026-11-18',
  type,
  name,
  requests,
  prompt_tokens: 0,
  completion_tokens: 0,
  images: 0,
  audio_seconds_in: 0,
  audio_seconds_out: 0,
});
const session = (type: ListedSession['type'], name: string | null, device: string): ListedSession => ({
  id: device,
  type,
  name,
  device,
  created: '',
  last_used: '',
  current: false,
});

test('peopleOf: each has what they used and where they are signed in, by name', () => {
  const rows = [day('key', 'Bob', 2), day('key', 'Bob', 3), day('address', 'Bob', 9)];
  const sessions = [session('key', 'Bob', 'Phone'), session('password', null, 'Laptop'), session('key', 'Eve', 'Tab')];
  const people = peopleOf([key('Bob'), key('anna')], rows, sessions);
  expect(people.map(({ name }) => name)).toEqual(['anna', 'Bob']);
  expect(people[0]).toMatchObject({ usage: undefined, devices: [] });
  expect(people[1]).toMatchObject({ usage: { requests: 5 }, devices: [{ device: 'Phone' }] });
});

test('inviteBody: leaves out what was not entered', () => {
  const form = { name: ' Anna ', scopes: ['chat'], tokensPerDay: null, rate: null, weight: null, shared: false };
  expect(inviteBody({ ...form, days: 0, minutes: 15 }, 0)).toEqual({
    name: 'Anna',
    scopes: ['chat'],
    minutes: 15,
    shared: false,
  });
  expect(inviteBody({ ...form, tokensPerDay: 5, rate: 2, weight: 0.5, days: 1, minutes: 60 }, 0)).toMatchObject({
    tokens_per_day: 5,
    rate: 2,
    weight: 0.5,
    key_expires: '1970-01-02T00:00:00.000Z',
  });
});

test('rulesOf, ruleBody: what somebody may do goes through the form and back', () => {
  const rules = { scopes: ['chat'], tokens_per_day: 1000, rate: null, weight: 2, shared: true };
  const form = rulesOf({ ...rules, name: 'Anna' } as unknown as ListedKey);
  expect(ruleBody(form, '2027-01-31T23:00:00.000Z')).toEqual({
    scopes: ['chat'],
    tokens_per_day: 1000,
    weight: 2,
    shared: true,
    key_expires: '2027-01-31T23:00:00.000Z',
  });
  expect(ruleBody({ ...form, tokensPerDay: null, weight: null }, null)).toEqual({ scopes: ['chat'], shared: true });
  expect(rulesOf({ ...rules, weight: 1 } as unknown as ListedKey).weight).toBeNull();
});

test('scopeSet: finds the usual choices in any order', () => {
  const everything = ['tools', 'text', 'chat', 'images', 'audio', 'embeddings', 'documents'];
  expect([everything, ['chat', 'text'], ['chat'], [...everything, 'admin'], []].map(scopeSet)).toEqual([
    ...['everything', 'chat', 'choice', 'choice', 'choice'],
  ]);
});

describe('linkAddresses', () => {
  const issued = { path: '/join#t', token: 't' } as IssuedInvitation;
  const lan = {
    enabled: true,
    public: true,
    fingerprint: null,
    addresses: ['192.168.1.5', 'fd00::5'],
    names: ['parley.local'],
    port: 5001,
  };

  test('linkAddresses: with --lan those of the network, that of the page first', () => {
    const here = linkAddresses(issued, 'http://localhost:5001/#/chat', lan);
    expect(here).toEqual([
      'http://192.168.1.5:5001/join#t',
      'http://[fd00::5]:5001/join#t',
      'http://parley.local:5001/join#t',
    ]);
    expect(linkAddresses(issued, 'https://parley.local:5001/', lan)[0]).toBe('http://parley.local:5001/join#t');
  });

  test('linkAddresses: without it the address of the page, also below the prefix of a proxy', () => {
    const page = 'https://example.org/parley/#/settings/people';
    expect(linkAddresses(issued, page, undefined)).toEqual(['https://example.org/parley/join#t']);
    expect(linkAddresses(issued, page, { ...lan, addresses: [], names: [] })).toHaveLength(1);
  });

  test.each([
    ['http://localhost:5001/join', true],
    ['http://127.0.0.1:5001/join', true],
    ['http://[::1]:5001/join', true],
    ['http://192.168.1.5:5001/join', false],
    ['https://localhost.example/join', false],
  ])('isOfThisMachine: %s is %s', (address, expected) => {
    expect(isOfThisMachine(address)).toBe(expected);
  });
});
