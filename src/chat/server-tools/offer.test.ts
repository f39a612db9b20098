import { expect, test } from 'vitest';
import { playedTools, textResult } from '../../core/testing/tool-servers.ts';
import { chatRequest } from '../testing/scripted-text.ts';
import { type ServerTools, serverToolsFor } from './offer.ts';

const of = (name: string) => playedTools(async () => textResult(name)).servers;
const [common, ada] = [of('common'), of('ada')];
const all: ServerTools = {
  servers: common,
  serversOf: ({ key }) => (key?.name === 'ada' ? ada : undefined),
  turns: 3,
  now: () => new Date(0),
  startTimer: () => ({ cancel: () => undefined }),
};

test('serverToolsFor: the tools of a chat are those of its client', () => {
  expect(serverToolsFor(chatRequest('Hi'), all, { reader: { key: { name: 'ada' } } })?.servers).toBe(ada);
  expect(serverToolsFor(chatRequest('Hi'), all, { reader: {} })?.servers).toBe(common);
  expect(serverToolsFor(chatRequest('Hi'), all)?.servers).toBe(common);
  expect(
    serverToolsFor(chatRequest('Hi'), { ...all, serversOf: undefined, servers: undefined }, { reader: {} }),
  ).toBeUndefined();
});
