import { expect, test } from 'vitest';
import { aliasProblems, aliasRemarks, modelAliases } from './aliases.ts';

test('modelAliases: reads NAME=MODEL in order', () => {
  expect(modelAliases(['claude-*=qwen3', ' gpt = a=b '])).toEqual([
    { pattern: 'claude-*', target: 'qwen3' },
    { pattern: 'gpt', target: 'a=b' },
  ]);
  expect(modelAliases(null)).toEqual([]);
});

test.each(['claude', '=qwen3', 'claude=', ' = '])('aliasProblems: refuses %j', (text) => {
  expect(aliasProblems([text])).toMatchObject([{ sentence: `--modelalias must be NAME=MODEL, not ${text}.` }]);
  expect(modelAliases([text])).toEqual([]);
});

test('aliasRemarks: names the aliases whose model does not exist', () => {
  const aliases = modelAliases(['claude-*=qwen3', 'gpt-*=nobody']);
  expect(aliasRemarks(aliases, ['koboldcpp/Qwen3'])).toEqual(['--modelalias gpt-*=nobody: there is no model nobody.']);
});
