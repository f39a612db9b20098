import { expect, test } from 'vitest';
import { character } from '../characters/testing/cast.ts';
import { counting } from '../story/testing/stories.ts';
import { cardOf, characterOfCard } from './character-card.ts';
import {
  foreignPlaces,
  isRegexScript,
  offeredScripts,
  scriptFile,
  scriptsIn,
  withOfferedScripts,
} from './regex-scripts.ts';

const file = {
  id: 'abc',
  scriptName: 'Hide thoughts',
  findRegex: '/<think>.*?<\\/think>/gs',
  replaceString: '',
  trimStrings: ['*'],
  placement: [1, 2, 5],
  disabled: false,
  markdownOnly: true,
  promptOnly: false,
  runOnEdit: true,
  substituteRegex: 2,
  minDepth: 2,
  maxDepth: null,
  note: 'kept',
};

test('scriptsIn: reads a script of SillyTavern, and scriptFile writes it back', () => {
  const [script] = scriptsIn(file, counting());
  expect(script).toMatchObject({
    name: 'Hide thoughts',
    find: '/<think>.*?<\\/think>/gs',
    trim: ['*'],
    on: true,
    user: true,
    reply: true,
    where: 'shown',
    macros: 'escaped',
    minDepth: 2,
  });
  expect(script).not.toHaveProperty('maxDepth');
  expect(script && foreignPlaces(script)).toEqual(['world']);
  expect(script && scriptFile(script)).toEqual({ ...file, id: script?.id });
});

test.each([
  [false, false, 'chat'],
  [true, false, 'shown'],
  [false, true, 'sent'],
  [true, true, 'shown-and-sent'],
] as const)('scriptsIn: markdownOnly %s and promptOnly %s change %s', (markdownOnly, promptOnly, where) => {
  expect(scriptsIn([{ ...file, markdownOnly, promptOnly }], counting())[0]?.where).toBe(where);
});

test('scriptsIn: broken fields count as missing, and other files have none', () => {
  const odd = { findRegex: 'a', placement: 'x', trimStrings: 3, minDepth: -1, substituteRegex: true, disabled: null };
  expect(scriptsIn([odd, 5, { name: 'x' }], counting())).toMatchObject([
    { name: '', on: true, user: false, reply: false, trim: [], macros: 'raw', where: 'chat' },
  ]);
  for (const other of [null, [], {}, { name: 'Ada', description: '' }]) expect(isRegexScript(other)).toBe(false);
});

test('withOfferedScripts: scripts of a card are used once they are allowed, and are in the card again', () => {
  const card = { spec: 'chara_card_v2', data: { name: 'Ada', extensions: { regex_scripts: [file], other: 1 } } };
  const ada = characterOfCard(card, counting(), 1);
  expect(ada.scripts).toBeUndefined();
  expect(offeredScripts(ada, counting())).toHaveLength(1);
  const allowed = withOfferedScripts(ada, counting());
  expect(allowed.scripts).toMatchObject([{ name: 'Hide thoughts' }]);
  expect(offeredScripts(allowed, counting())).toEqual([]);
  const { data } = cardOf(allowed) as { data: { extensions: object } };
  expect(data.extensions).toMatchObject({
    other: 1,
    regex_scripts: [{ scriptName: 'Hide thoughts', placement: [1, 2, 5] }],
  });
  expect(offeredScripts(character({ name: 'Bo' }), counting())).toEqual([]);
});
