import { expect, test } from 'vitest';
import { factIn } from './said.ts';

test.each([
  ['Remember that my dog is called Rex.', 'My dog is called Rex.'],
  ['Hello! Please remember that I live in Graz. Thanks.', 'I live in Graz.'],
  ["don't forget that I am allergic to nuts", 'I am allergic to nuts'],
  ['Merke dir bitte, dass ich Tee mag.', 'Ich Tee mag.'],
  ['Souviens-toi que je vis à Lyon.', 'Je vis à Lyon.'],
])('factIn: %s', (message, fact) => {
  expect(factIn(message)).toBe(fact);
});

test.each(['Do you remember that day?', 'I remember that it rained.', 'Remember that?', 'What is new?'])(
  'factIn: %s asks for nothing',
  (message) => {
    expect(factIn(message)).toBeUndefined();
  },
);
