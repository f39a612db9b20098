import { describe, expect, test } from 'vitest';
import {
  builtInAdapters,
  type ChatAdapter,
  type ChatTags,
  chatAdapter,
  fallbackAdapter,
  type Guess,
  guessList,
  guessListWithoutThinking,
  tagsWithoutThinking,
} from './adapter.ts';
import {
  builtInGuessLists,
  builtInNames,
  chooseAdapter,
  guessAdapter,
  heuristicFailedLine,
  loadAdapter,
  type ReadFile,
} from './load.ts';

const noFiles: ReadFile = async () => undefined;

describe('guessList', () => {
  test('has 33 entries, specific formats before general ones', () => {
    expect(guessList).toHaveLength(33);
    expect(guessList[0]?.name).toBe('ChatML (Phi 4)');
    expect(guessList[32]?.name).toBe('Ling 3.0 Flash');
  });

  test('every entry has a search string and a non-empty assistantGen', () => {
    for (const { search, adapter } of guessList) {
      expect(search.length).toBeGreaterThan(0);
      expect(adapter.tags.assistantGen).not.toBe('');
    }
  });

  test('a template of the search strings of an entry matches it or an earlier one', () => {
    guessList.forEach((guess, index) => {
      const found = guessAdapter(guess.search.join('\n'), guessList);
      expect(guessList.findIndex(({ name }) => name === found?.name)).toBeLessThanOrEqual(index);
    });
  });

  test('guessListWithoutThinking: differs in exactly nine entries', () => {
    const changed = guessListWithoutThinking.filter((guess, index) => guess !== guessList[index]);
    expect(changed.map(({ name }) => name)).toEqual([
      'ChatML (Qwen 2.5 based)',
      'ChatML (Kimi)',
      'ChatML (Kimi Alternate)',
      'GLM-4.7',
      'GLM-4',
      'DeepSeek V2.5',
      'Seed OSS',
      'ChatML (Generic)',
      'MiniMax',
    ]);
    for (const { adapter } of changed) expect(adapter.tags.assistantGen).toBe(adapter.tags.assistantStart);
  });
});

describe('builtInNames', () => {
  test('has 30 names: 27 formats, one older name and two guess lists', () => {
    expect(builtInNames).toHaveLength(30);
    expect(Object.keys(builtInAdapters)).toHaveLength(28);
    expect(Object.keys(builtInGuessLists)).toEqual(['AutoGuess', 'AutoGuess-NoThink']);
  });
});

describe('loadAdapter', () => {
  test('prefers an existing file to a built-in name', async () => {
    const loaded = await loadAdapter('ChatML', async () => '{"user_start":"U:"}');
    expect(chooseAdapter(loaded, undefined).adapter.tags.userStart).toBe('U:');
  });

  test.each(['chatml', 'ChatML.json', 'CHATML.JSON'])('finds the built-in name %s in any case', async (value) => {
    const { source, choice } = await loadAdapter(value, noFiles);
    expect(source).toBe('ChatML');
    expect(choice).toMatchObject({ adapter: { tags: { userStart: '<|im_start|>user\n' } } });
  });

  test('reads an object, with Alpaca tags for missing keys', async () => {
    const loaded = await loadAdapter('{"assistant_start":"A:","max_length":99,"circular_x":1}', noFiles);
    const { adapter } = chooseAdapter(loaded, undefined);
    expect(adapter.tags).toMatchObject({ assistantStart: 'A:', assistantGen: 'A:', userStart: '\n### Instruction:\n' });
    expect(adapter.defaults).toEqual({ maxTokens: 99 });
    expect(loaded.warnings).toEqual([]);
  });

  test('reads a guess list', async () => {
    const list = JSON.stringify([{ search: ['<x>'], name: 'Mine', adapter: { user_start: '<x>' } }]);
    const chosen = chooseAdapter(await loadAdapter(list, noFiles), 'a <x> b');
    expect(chosen.consoleLine).toBe('Chat completion heuristic: Mine');
    expect(chosen.adapter.tags.userStart).toBe('<x>');
  });

  test('warns about unknown keys', async () => {
    const { warnings } = await loadAdapter('{"usr_start":"x"}', noFiles);
    expect(warnings).toEqual(['The key usr_start in the chat adapter inline means nothing here.']);
  });

  test.each([
    ['NoSuchName', /neither a file nor a built-in name.*AutoGuess/],
    ['{"user_start":', /not valid JSON/],
    ['{"user_start":5}', /user_start in the chat adapter must be a string/],
    ['[{"search":[],"name":"x","adapter":{}}]', /search in entry 1/],
  ])('rejects %s with a reason', async (value, reason) => {
    await expect(loadAdapter(value, noFiles)).rejects.toThrow(reason);
  });
});

test('chooseAdapter: Alpaca for a missing or unknown template', async () => {
  const loaded = await loadAdapter('AutoGuess', noFiles);
  for (const template of [undefined, '', '{{ messages }}']) {
    expect(chooseAdapter(loaded, template)).toEqual({
      adapter: fallbackAdapter,
      name: undefined,
      consoleLine: heuristicFailedLine,
    });
  }
});

describe('tagsWithoutThinking', () => {
  const silent = (tags: ChatTags, name: string, template: string | undefined = '… <think> …') =>
    tagsWithoutThinking(tags, { name, template });
  const tagsOf = (name: string) => (builtInAdapters[name] as ChatAdapter).tags;
  const guessed = (name: string) => (guessList.find((guess) => guess.name === name) as Guess).adapter.tags;

  test.each([
    ['ChatML', '<|im_start|>assistant\n<think>\n\n</think>\n'],
    ['DeepSeek', '<｜Assistant｜></think>'],
    ['MiniMax', ']~b]ai\n<think>\nWe can answer immediately.\n</think>\n\n'],
  ])('%s: closes the thinking of the generated turn', (name, opening) => {
    const tags = tagsOf(name);
    expect(silent(tags, name)).toEqual({ ...tags, assistantGen: opening });
  });

  test('uses the name of a guessed format, which may change other tags too', () => {
    const tags = guessed('GLM-4.7');
    expect(silent(tags, 'GLM-4.7')).toEqual({ ...tags, userEnd: '/nothink', assistantGen: '<|assistant|>\n</think>' });
  });

  test.each(['Llama-3', 'Alpaca', 'Mistral-Tekken', 'Command-R'])('%s: undefined', (name) => {
    expect(silent(tagsOf(name), name)).toBeUndefined();
  });

  test.each(['ChatML-NoThink', 'GLM-4-NoThink', 'Seed-OSS-NoThink', 'OpenAI-Harmony'])(
    '%s: returned unchanged',
    (name) => {
      const tags = tagsOf(name);
      expect(silent(tags, name)).toBe(tags);
    },
  );

  test.each([undefined, '', '{{ messages }}<|im_start|>assistant'])(
    'a model whose template is %j does not think, and would not know what closed thoughts are',
    (template) => expect(silent(tagsOf('ChatML'), 'ChatML', template ?? '')).toBeUndefined(),
  );

  test.each(['</think>', '[THINK]', '<|channel|>analysis<|message|>'])(
    'a template with %s speaks of thinking',
    (tag) => {
      expect(silent(tagsOf('ChatML'), 'ChatML', `x ${tag} y`)).toBeDefined();
    },
  );

  test('recognises a custom adapter by its tags', () => {
    const { tags } = chatAdapter({ ...tagsOf('ChatML') });
    expect(silent(tags, 'my-adapter.json')?.assistantGen).toContain('</think>');
    expect(silent({ ...tags, userStart: 'U: ' }, 'my-adapter.json')).toBeUndefined();
  });

  test('agrees with guessListWithoutThinking', () => {
    for (const [index, { name, adapter }] of guessListWithoutThinking.entries()) {
      const { tags } = (guessList[index] as Guess).adapter;
      if (adapter.tags.assistantGen === tags.assistantGen) continue;
      expect(silent(tags, name)?.assistantGen, name).toBe(adapter.tags.assistantGen);
    }
  });
});
